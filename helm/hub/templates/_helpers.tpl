{{- define "hub.image" -}}
{{ .root.Values.image.registry }}/{{ .name }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion }}
{{- end }}

{{- define "hub.labels" -}}
app.kubernetes.io/name: spillway-{{ .name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/part-of: spillway
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- end }}

{{- define "hub.selector" -}}
app.kubernetes.io/name: spillway-{{ .name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- end }}

{{- define "hub.env" -}}
- { name: SPILLWAY_LOG_LEVEL, value: {{ .Values.logLevel | quote }} }
- { name: SPILLWAY_PUBLIC_URL, value: {{ .Values.publicUrl | quote }} }
- name: SPILLWAY_DATABASE_URL
  valueFrom: { secretKeyRef: { name: {{ .Values.storeSecretName }}, key: DATABASE_URL } }
- name: SPILLWAY_REDIS_URL
  valueFrom: { secretKeyRef: { name: {{ .Values.storeSecretName }}, key: REDIS_URL, optional: true } }
- name: SPILLWAY_ENCRYPTION_KEY
  valueFrom: { secretKeyRef: { name: {{ .Values.encryptionSecretName }}, key: ENCRYPTION_KEY } }
{{- end }}

{{- define "hub.pod" -}}
automountServiceAccountToken: false
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  seccompProfile: { type: RuntimeDefault }
topologySpreadConstraints:
- maxSkew: 1
  topologyKey: kubernetes.io/hostname
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels: {{- include "hub.selector" . | nindent 6 }}
{{- end }}

{{- define "hub.container" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end }}
