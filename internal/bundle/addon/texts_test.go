package addon_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/eggo-k8s/eggo/internal/bundle/addon"
)

// cr is a custom resource with these lines in its spec.
func cr(lines ...string) string {
	return "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: t}\nspec:\n  " + strings.Join(lines,
		"\n  ") + "\n"
}

// cm is a ConfigMap with these lines in its data.
func cm(lines ...string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  " + strings.Join(lines, "\n  ") + "\n"
}

// What operators start is named in fields that only they know: each such value is a guess.
func TestImagesWhereTheAPIPromisesNone(t *testing.T) {
	sum := "sha256:" + strings.Repeat("a", 64)
	for _, c := range []struct{ name, text, want string }{
		{"CloudNativePG", "apiVersion: postgresql.cnpg.io/v1\nkind: Cluster\nmetadata: {name: db}\n" +
			"spec: {imageName: \"ghcr.io/cloudnative-pg/postgresql:16.4\"}\n",
			"ghcr.io/cloudnative-pg/postgresql:16.4"},
		{"a catalog", "apiVersion: postgresql.cnpg.io/v1\nkind: ImageCatalog\nmetadata: {name: db}\n" +
			"spec: {images: [{major: 16, image: \"ghcr.io/cloudnative-pg/postgresql:16.4\"}]}\n",
			"ghcr.io/cloudnative-pg/postgresql:16.4"},
		{"no host", cr("imageName: postgresql:16"), "docker.io/library/postgresql:16"},
		{"imageRef", cr("imageRef: quay.io/x/y:1"), "quay.io/x/y:1"},
		{"no tag, by the name of the field", cr("workerImage: quay.io/x/y"), "quay.io/x/y:latest"},
		{"a field of any name", cr("runtime: quay.io/x/y:1"), "quay.io/x/y:1"},
		{"a digest", cr("runtime: quay.io/x/y@" + sum), "quay.io/x/y@" + sum},
		{"a port", cr("runtime: registry:5000/x/y:1"), "registry:5000/x/y:1"},
		{"an address", cr("runtime: 10.0.0.1:5000/x:1"), "10.0.0.1:5000/x:1"},
		{"localhost", cr("runtime: localhost/x:1"), "localhost/x:1"},
		{"a list", cr("images:", "- app:1", "- quay.io/x/y:2"), "docker.io/library/app:1 quay.io/x/y:2"},
		{"a list of any name", cr("sidecars: [quay.io/x/y:1, other]"), "quay.io/x/y:1"},
		{"a list in a list", cr("deep: [[{a: {b: quay.io/x/y:1}}]]"), "quay.io/x/y:1"},
		{"an alias", cr("a: &i quay.io/x/y:1", "b: *i"), "quay.io/x/y:1 quay.io/x/y:1"},
		{"relatedImages", cr("relatedImages: [{name: a, image: \"quay.io/x/y:1\"}]"), "quay.io/x/y:1"},
		{"a manifest in a field", cr("valuesContent: |", "  image:", "    repository: quay.io/x/y", "    tag: v1"),
			"quay.io/x/y:v1"},
		{"JSON in a field", cr(`config: '{"image": "app:1", "other": "quay.io/x/y:1"}'`),
			"docker.io/library/app:1 quay.io/x/y:1"},
		// https://github.com/zarf-dev/zarf/issues/4007
		{"Rook's ConfigMap", cm("ROOK_CSI_ATTACHER_IMAGE: registry.k8s.io/sig-storage/csi-attacher:v4.8.1"),
			"registry.k8s.io/sig-storage/csi-attacher:v4.8.1"},
		{"one line of JSON", cm(`a.json: '{"initImage": "app:1"}'`), "docker.io/library/app:1"},
		{"JSON in JSON", cm(`a.json: '{"a": "{\"image\":\"quay.io/x/y:1\"}"}'`), "quay.io/x/y:1"},
		{"a template", cm("config: |", "  {{- if .Values.x }}", "  containers:", "  - name: istio-proxy",
			"    image: docker.io/istio/proxyv2:1.24.0", "  {{- end }}"), "docker.io/istio/proxyv2:1.24.0"},
		{"a template's default", cm("config: |", "  x: {{ .image | default \"quay.io/x/y:1\" }}"), "quay.io/x/y:1"},
		{"a template's short name", cm("config: |", "  {{ if .x }}", "  image: busybox:1.36", "  {{ end }}"),
			"docker.io/library/busybox:1.36"},
		{"a script", cm("run.sh: |", "  #!/bin/sh", "  ctr run --rm quay.io/x/y:1 t"), "quay.io/x/y:1"},
		{"properties", cm("app.properties: |", "  worker.image=app:1", "  b=c"), "docker.io/library/app:1"},
		{"a manifest in a manifest", cm("a.yaml: |", "  apiVersion: v1", "  kind: ConfigMap", "  data:",
			"    b.yaml: |", "      image: quay.io/x/y:1"), "quay.io/x/y:1"},
		{"a Secret's text", "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n  a: |\n    image: " +
			"app:1\n",
			"docker.io/library/app:1"},
		{"an annotation", "apiVersion: v1\nkind: Service\nmetadata:\n  name: s\n  annotations:\n" +
			"    sidecar.example.com/proxyImage: app:1\n    example.com/b: quay.io/x/y:1\n",
			"docker.io/library/app:1 quay.io/x/y:1"},
		{"JSON in an annotation", "apiVersion: v1\nkind: Service\nmetadata:\n  name: s\n  annotations:\n" +
			"    example.com/b: '[{\"image\":\"app:1\"}]'\n", "docker.io/library/app:1"},
		{"a pod's annotation", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: s}\nspec:\n  template:\n" +
			"    metadata: {annotations: {example.com/b: \"quay.io/x/y:1\"}}\n    spec: {containers: []}\n",
			"quay.io/x/y:1"},
		{"a ConfigMap's annotation", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: s\n  annotations:\n" +
			"    example.com/b: quay.io/x/y:1\n", "quay.io/x/y:1"},
	} {
		found, err := addon.Images("x", []byte(c.text))
		want := "?" + strings.ReplaceAll(c.want, " ", " ?")
		if got := strings.Join(said(found), " "); err != nil || got != want {
			t.Errorf("%s: %v\n got %s\nwant %s", c.name, err, got, want)
		}
		for _, f := range found {
			if lines := strings.Split(c.text, "\n"); f.Line < 1 || f.Line > len(lines) {
				t.Errorf("%s: line %d", c.name, f.Line)
			}
		}
	}
}

// What only has the shape of an image's name is none.
func TestWhatIsNoImage(t *testing.T) {
	for _, value := range []string{
		"2024-01-01T10:00:00Z", "10:30", "10:30/11:30", "1h30m", "12:30:00", "example.com:8080", "example.com/path",
		"https://example.com/x:1", "http://quay.io/x/y:1", "oci://quay.io/x/y:1", "git@github.com:org/repo.git",
		"10.0.0.0/8", "10.0.0.0/8:53", "fd00::/8", "[::1]:8080", "app.kubernetes.io/name", "app.kubernetes.io/name:web",
		"node-role.kubernetes.io/control-plane:NoSchedule", "kubernetes.io/os=linux", "apps.example.com/v1:Thing",
		"apps.example.com/v1beta1:Thing", "cluster.local/ns/a/sa/b", "spiffe://x/ns/a", "ns/name:80", "main.go:12",
		"src/main.go:12", "job:rate:sum", "arn:aws:iam::123:role/x", "registry.example.com/*", "quay.io/*:latest",
		"sha256:" + strings.Repeat("a", 64), "k8s.io/api@v0.34.0", "me@example.com", "C:/x", "1.2/foo:3", "v1.2",
		"true", "85", "", "a b", "latest", "/var/run/x:/y", "quay.io/x/y",
	} {
		quoted := "'" + value + "'"
		for _, text := range []string{cr("field: " + quoted), cr("list: [" + quoted + "]"), cm("key: " + quoted),
			cr("text: |", "  field: "+value, "  b: c"), cm("text: |", "  field: "+value, "  b: c"),
			"apiVersion: v1\nkind: Service\nmetadata: {name: s, annotations: {a: " + quoted + "}}\n"} {
			if found, err := addon.Images("x", []byte(text)); err != nil || len(found) > 0 {
				t.Errorf("%q in\n%s%v %v", value, text, err, said(found))
			}
		}
	}
	for _, line := range []string{"imageRepository: quay.io/x/y", "imageRegistry: quay.io", "imagePullPolicy: Always",
		"imageTag: v1.2", "imageMinimumGCAge: 2m0s", "imagePullSecrets: [{name: a}]", "image: Some-Image",
		"imageGCHighThresholdPercent: 85", "imageScanAt: '12:30'", "registryURL: quay.io/x/y:1",
		"endpoint: s3.example.com/bucket:9000"} {
		if found, err := addon.Images("x", []byte(cr(line))); err != nil || len(found) > 0 {
			t.Errorf("%s: %v %v", line, err, said(found))
		}
	}
	for _, text := range []string{
		// https://github.com/nikhilsbhat/helm-images/issues/38 and /52
		cm("test.yml: |", "  foo_image_bar: SHOULD_NOT_PRINT_THIS"),
		cm("charts: |", "  {{- $_ := set $c \"a\" (dict \"release_name\" \"foo\" \"image\" \"fooImage\") }}",
			"  {{ toJson $c }}"),
		// https://github.com/zarf-dev/zarf/issues/3253
		cr("match: {images: [\"registry1.dso.mil/*\", \"registry1.dso.mil*\"]}"),
		cm("a.yaml: |", "  # image: quay.io/x/y:1", "  b: c"),
		"apiVersion: v1\nkind: Service\nmetadata:\n  name: s\n  annotations:\n" +
			"    kubectl.kubernetes.io/last-applied-configuration: '{\"image\": \"quay.io/old/x:1\"}'\n",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: cXVheS5pby94L3k6MQ==}\n",
		"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a.b}\n" +
			"spec: {group: b, names: {kind: A}, versions: [{schema: {default: \"quay.io/x/y:1\"}}]}\n",
	} {
		if found, err := addon.Images("x", []byte(text)); err != nil || len(found) > 0 {
			t.Errorf("%v %v in\n%s", err, said(found), text)
		}
	}
}

// A pod whose image is pulled each time does not start without a network, though the node has the image.
func TestPulls(t *testing.T) {
	spec := func(fields string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: ns}\nspec: {containers: [{name: c, " +
			"" + fields +
			"}]}\n"
	}
	sum := "@sha256:" + strings.Repeat("a", 64)
	for _, c := range []struct{ name, text, want string }{
		{"Always", spec("image: \"a:1\", imagePullPolicy: Always"), "Pod ns/p a:1"},
		{"IfNotPresent", spec("image: \"a:1\", imagePullPolicy: IfNotPresent"), ""},
		{"Never", spec("image: \"a:1\", imagePullPolicy: Never"), ""},
		{"no policy", spec("image: \"a:1\""), ""},
		{"no policy and no tag", spec("image: a"), "Pod ns/p a default"},
		{"no policy and latest", spec("image: \"a:latest\""), "Pod ns/p a:latest default"},
		{"latest and IfNotPresent", spec("image: \"a:latest\", imagePullPolicy: IfNotPresent"), ""},
		{"latest and Never", spec("image: a, imagePullPolicy: Never"), ""},
		{"a digest", spec("image: \"a" + sum + "\""), ""},
		{"latest with a digest", spec("image: \"a:latest" + sum + "\""), "Pod ns/p a:latest" + sum + " default"},
		{"an empty policy", spec("image: \"a:1\", imagePullPolicy: \"\""), ""},
		{"an init container", "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: j}\nspec: {jobTemplate: {spec: " +
			"{template: {spec: {initContainers: [{name: i, image: \"a:1\", imagePullPolicy: Always}]}}}}}\n",
			"CronJob j a:1"},
		{"an ephemeral container", "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {ephemeralContainers: " +
			"[{name: " +
			"e, image: \"a:1\", imagePullPolicy: Always}]}\n", "Pod p a:1"},
		{"an image volume", "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {volumes: [{name: v, image: " +
			"{reference: \"a:1\", pullPolicy: Always}}]}\n", "Pod p a:1"},
		{"a list", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: apps/v1\n  kind: DaemonSet\n  metadata: " +
			"{name: d}\n" +
			"  spec: {template: {spec: {containers: [{name: c, image: \"a:1\", imagePullPolicy: Always}]}}}\n",
			"DaemonSet d a:1"},
		{"a pod's template in a custom resource", "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: " +
			"{name: r}\n" +
			"spec: {template: {spec: {containers: [{name: c, image: \"a:1\", imagePullPolicy: Always}]}}}\n",
			"Rollout r a:1"},
		{"beside an image of a custom resource", cr("redis: {image: \"redis:6\", imagePullPolicy: Always}"),
			"Thing t redis:6"},
		{"CloudNativePG", cr("imageName: \"pg:16\"", "imagePullPolicy: Always"), "Thing t pg:16"},
		{"with repository and tag", cr("image: {repository: quay.io/x/y, tag: v1, pullPolicy: Always}"),
			"Thing t quay.io/x/y:v1"},
		{"without an image", cr("imagePullPolicy: Always"), "Thing t "},
		{"the custom resource's own default", cr("image: redis"), ""},
		// https://github.com/rancher/local-path-provisioner/pull/188
		{"a pod in a ConfigMap", cm("helperPod.yaml: |", "  apiVersion: v1", "  kind: Pod", "  metadata: {name: h}",
			"  spec:", "    containers: [{name: h, image: busybox}]"), "ConfigMap c busybox default"},
	} {
		got, err := addon.Read("x", []byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var all []string
		for _, p := range got.Pulls {
			s := p.Kind + " " + p.Object + " " + p.Image
			if p.Default {
				s += " default"
			}
			all = append(all, s)
		}
		if strings.Join(all, "\n") != c.want {
			t.Errorf("%s: %q, want %q", c.name, all, c.want)
		}
		if keeps := strings.Contains(c.name, "IfNotPresent") || strings.Contains(c.name, "Never"); keeps !=
			slices.Contains([]int{1}, len(got.Kept)) {
			t.Errorf("%s: kept %v", c.name, got.Kept)
		}
	}
}

// FuzzTexts: what is found in a text means itself, and is found in the text of another kind too.
func FuzzTexts(f *testing.F) {
	for _, s := range []string{"image: quay.io/x/y:1", `{"image": "app:1"}`, "{{ .x }} docker.io/a/b:1", "10:30/11:30",
		"a\n# image: b:1\n", "node-role.kubernetes.io/x:NoSchedule", "\"quay.io/x/y:1\\n\"", "[::1]:5000/x:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		quoted := strings.NewReplacer("\\", "\\\\", "\"", "\\\"", "\n", "\\n").Replace(s)
		for _, text := range []string{cm("a: \"" + quoted + "\""), cr("a: \"" + quoted + "\"")} {
			found, err := addon.Images("x", []byte(text))
			if err != nil {
				code(t, err)
				continue
			}
			for _, x := range found {
				if !x.Guess || len(addon.Missing([]addon.Found{x}, []string{x.Name})) > 0 {
					t.Fatalf("%+v", x)
				}
			}
		}
	})
}
