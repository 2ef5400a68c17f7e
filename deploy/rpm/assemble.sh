#!/bin/sh
# Inside the container of deploy/debian/build.sh, after its package: the same tree as an RPM for MACHINE. assemble.sh el8 or el9.
set -eu
umask 022

RELEASE=$1
NUMBER=${REVISION%%+*}
TOP=/tmp/rpm-$RELEASE-$MACHINE
TREE=$TOP/tree
UNITS=$TREE/usr/lib/systemd/system
cd /source/deploy

command -v rpmbuild >/dev/null || {
  echo "RPM: this image has no rpmbuild: docker rmi innobrim/systemd:252, then make servers ARGS=systemd-252" >&2
  exit 1
}

mkdir -p "$TOP" "$(dirname "$UNITS")"
cp -a "$ROOT/." "$TREE/"
mv "$TREE/lib/systemd/system" "$UNITS"
mv "$TREE/usr/share/zsh/vendor-completions" "$TREE/usr/share/zsh/site-functions"
rm -r "$TREE/DEBIAN" "$TREE/lib"
# Where MySQL and MariaDB of Rocky have their socket.
sed -i "s,/run/mysqld/mysqld.sock,/var/lib/mysql/mysql.sock," "$TREE/etc/innobrim/innobrim.toml"
if [ "$RELEASE" = el8 ]; then
  for unit in innobrim innobrim@; do
    install -D -m 0644 "rpm/$unit.el8.conf" "$UNITS/$unit.service.d/el8.conf"
  done
fi

# The scripts do what those of the Debian package do, by the same functions. A % is rpm's own there.
functions() {
  from=$1
  shift
  for name; do sed -n "/^$name() {/,/^}/p" "$from"; done
}
{
  printf 'STOPPED=/run/innobrim.stopped\n'
  functions debian/prerm daemons stop_all
  cat rpm/pre
} | sed 's/%/%%/g' >"$TOP/pre"
{
  printf 'STOPPED=/run/innobrim.stopped\nPROGRAM=/opt/innobrim/bin/innobrim\n'
  functions debian/postinst look_at
  cat rpm/posttrans
} | sed 's/%/%%/g' >"$TOP/posttrans"

rpmbuild -bb --quiet --target "$MACHINE" --define "_topdir $TOP" --define "_rpmdir /dist" --define "_sourcedir $TOP" --define "tree $TREE" \
  --define "version $VERSION" --define "release $NUMBER.$RELEASE" --define "python $PYTHON" \
  --define "_build_name_fmt %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm" \
  --define "login_mode $([ "$RELEASE" = el8 ] && echo '0640,root,innobrim' || echo '0600,root,root')" \
  --define "systemd $([ "$RELEASE" = el8 ] && echo 239 || echo 252)" \
  --define "use_source_date_epoch_as_buildtime 1" --define "clamp_mtime_to_source_date_epoch 1" \
  --define "_buildhost innobrim" rpm/innobrim.spec >&2
package=/dist/innobrim-$VERSION-$NUMBER.$RELEASE.$MACHINE.rpm
chown "$OWNER" "$package"
echo "${package#/}"
