{{- define "innobrim.labels" -}}
app.kubernetes.io/name: innobrim
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{/* What the schema cannot say, because it takes two values. */}}
{{- define "innobrim.check" -}}
{{- $sidecar := ne .Values.way "hosted" }}
{{- if not .Values.image.repository }}{{ fail "image.repository is empty: name the image that you pushed, such as registry.example.com/innobrim" }}{{ end }}
{{- if $sidecar }}
{{- if not .Values.cluster }}{{ fail (printf "cluster is empty: way %s needs the name of its StatefulSet or custom resource" .Values.way) }}{{ end }}
{{- if .Values.server.host }}{{ fail (printf "server.host is %s: a sidecar reaches the server of its own pod; leave it empty, or set way to hosted" .Values.server.host) }}{{ end }}
{{- if eq .Values.api.reach "tls" }}{{ fail "api.reach is tls: each pod of a sidecar has tokens of its own, so that one Prometheus cannot read them all; it must be loopback or plain" }}{{ end }}
{{- else }}
{{- if not .Values.server.host }}{{ fail "server.host is empty: way hosted needs the name of one server" }}{{ end }}
{{- if .Values.patch }}{{ fail "patch is true: way hosted has no patch; install the chart" }}{{ end }}
{{- if and (eq .Values.api.reach "tls") (not .Values.api.tlsSecret) }}{{ fail "api.tlsSecret is empty: api.reach tls needs a Secret of the type kubernetes.io/tls" }}{{ end }}
{{- end }}
{{- if and (hasPrefix "verify" (include "innobrim.tls" .)) (not (include "innobrim.caFile" .)) }}{{ fail (printf "server.ca.secret is empty: server.tls %s needs the Secret with the server's certificate authority" (include "innobrim.tls" .)) }}{{ end }}
{{- if .Values.podMonitor.enabled }}
{{- if eq .Values.api.reach "loopback" }}{{ fail "podMonitor.enabled is true and api.reach is loopback: Prometheus cannot reach it; api.reach must be plain or tls" }}{{ end }}
{{- if and (eq .Values.api.reach "tls") (not .Values.podMonitor.tokenSecret.name) }}{{ fail "podMonitor.tokenSecret.name is empty: api.reach tls needs a Secret with a token (innobrim token make)" }}{{ end }}
{{- if and (eq .Values.way "statefulset") (not .Values.podMonitor.selector) }}{{ fail "podMonitor.selector is empty: give the labels of the StatefulSet's pods" }}{{ end }}
{{- end }}
{{- end }}

{{- define "innobrim.image" -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- define "innobrim.tls" -}}
{{ .Values.server.tls | default (eq .Values.way "hosted" | ternary "verify_identity" "verify_ca") }}
{{- end }}

{{/* Percona XtraDB Cluster serves the certificate of ssl-internal; without cert-manager that has an authority of its own. */}}
{{- define "innobrim.caSecret" -}}
{{ .Values.server.ca.secret | default (get (dict "percona-server" (printf "%s-ssl" .Values.cluster) "percona-xtradb-cluster" (printf "%s-ssl-internal" .Values.cluster)) .Values.way) }}
{{- end }}

{{/* mariadb-operator mounts its authority into every container of the pod by itself. */}}
{{- define "innobrim.caFile" -}}
{{- if hasPrefix "verify" (include "innobrim.tls" .) }}
{{- if and (eq .Values.way "mariadb-operator") (not .Values.server.ca.secret) }}/etc/pki/ca.crt
{{- else if include "innobrim.caSecret" . }}/ca/{{ .Values.server.ca.key }}{{ end }}
{{- end }}
{{- end }}

{{/* What InnoBrim is told by its environment, as a map. */}}
{{- define "innobrim.variables" -}}
INNOBRIM_SERVER_HOST: {{ .Values.server.host | default "127.0.0.1" | quote }}
INNOBRIM_SERVER_PORT: {{ .Values.server.port | quote }}
INNOBRIM_SERVER_DEFAULTS_FILE: /login/my.cnf
INNOBRIM_SERVER_TLS: {{ include "innobrim.tls" . | quote }}
{{- with include "innobrim.caFile" . }}
INNOBRIM_SERVER_TLS_CA: {{ . }}
{{- end }}
{{- if ne .Values.api.reach "loopback" }}
INNOBRIM_API_HOST: 0.0.0.0{{ with .Values.api.serverName }}, {{ . }}{{ end }}
INNOBRIM_API_TLS: {{ eq .Values.api.reach "tls" | ternary "/api/tls.crt:/api/tls.key" "off" | quote }}
{{- end }}
{{- if and (eq .Values.way "hosted") .Values.server.identity }}
INNOBRIM_IDENTITY: {{ .Values.server.identity | quote }}
{{- end }}
{{- end }}

{{/* A probe over the unix socket, which is there whatever the API listens on. */}}
{{- define "innobrim.probe" -}}
exec:
  command:
    - python3
    - -c
    - "import http.client as h, socket as s; c = h.HTTPConnection('localhost'); c.sock = s.socket(s.AF_UNIX); c.sock.settimeout(8); c.sock.connect('/var/lib/innobrim/api.sock'); c.request('GET', '{{ . }}'); raise SystemExit(c.getresponse().status != 200)"
timeoutSeconds: 10
{{- end }}

{{- define "innobrim.container" -}}
- name: innobrim
  image: {{ include "innobrim.image" . | quote }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- if eq .Values.way "mariadb-operator" }}
  # The operator gives each container the environment of the server, with root's password, and has no field against it.
  command:
    - sh
    - -c
    - >-
      exec env -i PATH="$PATH" TMPDIR=/var/lib/innobrim MALLOC_ARENA_MAX=1 PYTHONSAFEPATH=1 PYTHONFAULTHANDLER=1
      PYTHONDONTWRITEBYTECODE=1 INNOBRIM_IDENTITY="$INNOBRIM_IDENTITY"
      {{- range $name, $_ := include "innobrim.variables" . | fromYaml }}
      {{ $name }}="${{ $name }}"
      {{- end }}
      innobrim-sidecar "$@"
    - innobrim-sidecar
{{- else if ne .Values.way "hosted" }}
  command: [innobrim-sidecar] # keeps the container, and so the database's pod ready, where the daemon ends or hangs
{{- end }}
  args: [run{{ if eq .Values.api.reach "plain" }}, --insecure-api{{ end }}]
  env:
    {{- range $name, $value := include "innobrim.variables" . | fromYaml }}
    - {name: {{ $name }}, value: {{ $value | quote }}}
    {{- end }}
    {{- if ne .Values.way "hosted" }}
    - {name: INNOBRIM_IDENTITY, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
    {{- end }}
{{- if ne .Values.way "mariadb-operator" }}
  {{- if ne .Values.api.reach "loopback" }}
  ports:
    - {name: innobrim, containerPort: 8633}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    readOnlyRootFilesystem: true
    allowPrivilegeEscalation: false
    capabilities: {drop: [ALL]}
    seccompProfile: {type: RuntimeDefault}
{{- end }}
{{- if eq .Values.way "hosted" }}
  livenessProbe:
    {{- include "innobrim.probe" "/livez" | nindent 4 }}
    initialDelaySeconds: 60
    periodSeconds: 30
  readinessProbe:
    {{- include "innobrim.probe" "/readyz" | nindent 4 }}
    periodSeconds: 15
{{- end }}
  resources: {{- toYaml .Values.resources | nindent 4 }}
  volumeMounts:
    - {name: innobrim-config, mountPath: /etc/innobrim, readOnly: true}
    - {name: innobrim-login, mountPath: /login, readOnly: true}
    {{- if hasPrefix "/ca/" (include "innobrim.caFile" .) }}
    - {name: innobrim-ca, mountPath: /ca, readOnly: true}
    {{- end }}
    {{- if eq .Values.api.reach "tls" }}
    - {name: innobrim-api, mountPath: /api, readOnly: true}
    {{- end }}
    - {name: innobrim-state, mountPath: /var/lib/innobrim}
{{- end }}

{{/*
The pod of a sidecar may have no fsGroup: then only "others" can read the login, and these are the processes of our container
alone. And it starts without what is missing ("optional"): the database is more than its sidecar. mariadb-operator knows of a Secret or
ConfigMap its name and its mode.
*/}}
{{- define "innobrim.volumes" -}}
{{ $optional := has .Values.way (list "hosted" "mariadb-operator") | ternary "" ", optional: true" -}}
- name: innobrim-config
  configMap: {name: {{ .Release.Name | quote }}{{ $optional }}}
- name: innobrim-login
  secret: {secretName: {{ .Values.login.secret | quote }}, defaultMode: {{ eq .Values.way "hosted" | ternary "0440" "0444" }}{{ $optional }}}
{{- if hasPrefix "/ca/" (include "innobrim.caFile" .) }}
- name: innobrim-ca
  secret:
    secretName: {{ include "innobrim.caSecret" . | quote }}
    {{- if ne .Values.way "mariadb-operator" }}
    items: [{key: {{ .Values.server.ca.key | quote }}, path: {{ .Values.server.ca.key | quote }}}]
    {{- end }}
    {{- if $optional }}
    optional: true
    {{- end }}
{{- end }}
{{- if eq .Values.api.reach "tls" }}
- name: innobrim-api
  secret: {secretName: {{ .Values.api.tlsSecret | quote }}, defaultMode: 0440}
{{- end }}
- name: innobrim-state
  {{- if eq .Values.way "hosted" }}
  persistentVolumeClaim: {claimName: {{ .Release.Name | quote }}}
  {{- else }}
  emptyDir: {}
  {{- end }}
{{- end }}
