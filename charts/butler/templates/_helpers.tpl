{{- define "butler.labels" -}}
app.kubernetes.io/name: butler
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "butler.selector" -}}
app.kubernetes.io/name: butler
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "butler.account" -}}
{{ .Values.serviceAccount.name | default .Release.Name }}
{{- end }}

{{- define "butler.replicas" -}}
{{ .Values.replicas | default (eq .Values.profile "core" | ternary 2 1) }}
{{- end }}

{{- define "butler.resources" -}}
{{- if .Values.resources }}
{{- toYaml .Values.resources }}
{{- else if eq .Values.profile "core" -}}
requests: {cpu: 200m, memory: 256Mi}
limits: {cpu: "1", memory: 512Mi}
{{- else -}}
requests: {cpu: 100m, memory: 128Mi}
limits: {cpu: 500m, memory: 256Mi}
{{- end }}
{{- end }}
