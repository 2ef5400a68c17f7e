#!/bin/sh
# Inside a container of deploy/release/build.sh: the indexes of apt and dnf, as static files, of the packages in /release.
set -eu
umask 022

cd /release/apt
rm -rf dists
for pool in pool/*; do
  suite=${pool#pool/}
  architectures=
  for package in "$pool"/*.deb; do
    architecture=${package##*_}
    architecture=${architecture%.deb}
    case " $architectures " in *" $architecture "*) continue ;; esac
    architectures="${architectures:+$architectures }$architecture"
    there=dists/$suite/main/binary-$architecture
    mkdir -p "$there"
    apt-ftparchive --arch "$architecture" packages "$pool" >"$there/Packages"
    gzip -9nk "$there/Packages"
  done
  about() { printf -- '-oAPT::FTPArchive::Release::%s ' "$@"; }
  # shellcheck disable=SC2046 # no word has a space but the list of architectures
  apt-ftparchive $(about Origin=InnoBrim Label=InnoBrim "Suite=$suite" "Codename=$suite" Components=main) \
    "-oAPT::FTPArchive::Release::Architectures=$architectures" release "dists/$suite" >/tmp/Release
  mv /tmp/Release "dists/$suite/Release"
done

if [ -d /release/dnf ]; then
  for there in /release/dnf/*/*; do
    createrepo_c --quiet --no-database --set-timestamp-to-revision --revision "$SOURCE_DATE_EPOCH" "$there"
  done
fi
chown -R "$OWNER" /release
