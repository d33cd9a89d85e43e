{{- define "elicit.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end -}}
{{- end }}

{{- define "elicit.image" -}}
{{- if .Values.image.digest }}{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else }}{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end -}}
{{- end }}

{{- /* What never changes in a Deployment. Call with (dict "root" $ "part" "web"). */ -}}
{{- define "elicit.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{- define "elicit.labels" -}}
{{ include "elicit.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{- /* The head of every pod: nothing that the service does not need. */ -}}
{{- define "elicit.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.affinity }}
affinity: {{ toYaml . | nindent 2 }}
{{- end }}
volumes:
  - name: secrets
    secret:
      secretName: {{ .root.Values.existingSecret }}
      defaultMode: 0440
      items:
        - {key: {{ .root.Values.secretKeys.databasePassword }}, path: database_password}
        - {key: {{ .root.Values.secretKeys.redisPassword }}, path: redis_password}
        - {key: {{ .root.Values.secretKeys.secretKey }}, path: secret_key}
        - {key: {{ .root.Values.secretKeys.vaultKeys }}, path: vault_keys}
  - name: tmp
    emptyDir: {sizeLimit: 64Mi}
  - name: var
    emptyDir: {sizeLimit: 16Mi}
  {{- if .root.Values.config.existingSecret }}
  - name: config
    secret: {secretName: {{ .root.Values.config.existingSecret }}, defaultMode: 0440}
  {{- end }}
{{- end }}

{{- /* The head of every container. */ -}}
{{- define "elicit.container" -}}
image: {{ include "elicit.image" .root | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
env:
  - {name: ELICIT_PUBLIC_URL, value: {{ .root.Values.publicUrl | quote }}}
  - {name: DATABASE_URL, value: {{ .root.Values.database.url | quote }}}
  - {name: DATABASE_PASSWORD_FILE, value: /run/secrets/database_password}
  - {name: REDIS_URL, value: {{ .root.Values.redis.url | quote }}}
  - {name: REDIS_PASSWORD_FILE, value: /run/secrets/redis_password}
  - {name: SECRET_KEY_FILE, value: /run/secrets/secret_key}
  - {name: ELICIT_VAULT_KEYS_FILE, value: /run/secrets/vault_keys}
  {{- range $name, $value := .root.Values.settings }}
  # A number of Helm's is a float, and would be 1e+07.
  - {name: {{ $name }}, value: {{ if kindIs "float64" $value }}{{ printf "%.0f" $value | quote }}{{ else }}{{ $value | toString | quote }}{{ end }}}
  {{- end }}
{{- with .root.Values.envFrom }}
envFrom: {{ toYaml . | nindent 2 }}
{{- end }}
volumeMounts:
  - {name: secrets, mountPath: /run/secrets, readOnly: true}
  - {name: tmp, mountPath: /tmp}
  - {name: var, mountPath: /app/var}
  {{- if .root.Values.config.existingSecret }}
  - {name: config, mountPath: /config, readOnly: true}
  {{- end }}
{{- end }}

{{- /* The port of /metrics if it has one of its own (ELICIT_METRICS_ADDRESS, HOST:PORT), else nothing. */ -}}
{{- define "elicit.metricsPort" -}}
{{- with get .Values.settings "ELICIT_METRICS_ADDRESS" }}{{ regexFind "[0-9]+$" (toString .) }}{{ end -}}
{{- end }}

{{- /* For what answers no requests: the file that it touches. */ -}}
{{- define "elicit.alive" -}}
livenessProbe:
  exec: {command: [python, -m, elicit_flows.lib.alive]}
  initialDelaySeconds: 90
  periodSeconds: 20
  timeoutSeconds: 5
  failureThreshold: 3
{{- end }}
