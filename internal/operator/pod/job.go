package pod

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	eggov1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/bundle/image/program"
	"github.com/eggo-k8s/eggo/internal/operator/render"
)

// Container is the name of the only container of a run's pod.
const Container = "run"

// The bounds of a Job.
const (
	attempts    = 5              // after the first one
	keptSeconds = 24 * 3600      // of a Job that has ended
	graceful    = 15 * 60        // seconds: running steps end
	memory      = "1Gi"          // the state is in memory, too
	spare       = 1 << 30        // bytes beside the bundles
	unknown     = int64(4 << 30) // bytes of a bundle whose size is not known
	scratch     = "64Mi"         // of the state directory
)

// Image is the image of runs.
type Image struct {
	Name        string
	PullPolicy  corev1.PullPolicy
	PullSecrets []string // names of Secrets of the Cluster's namespace
}

// Run describes the Job of an Operation.
type Run struct {
	Operation *eggov1.Operation
	Cluster   *eggov1.Cluster
	Image     Image
	Input     Input
}

// Labels returns the labels of everything that is made for an Operation.
func Labels(o *eggov1.Operation) map[string]string {
	return map[string]string{eggov1.LabelCluster: o.Spec.ClusterRef.Name, eggov1.LabelOperation: o.Name,
		"app.kubernetes.io/name": "eggops", "app.kubernetes.io/component": "run"}
}

// Meta returns the metadata of an object that belongs to an Operation and is deleted with it.
func Meta(o *eggov1.Operation, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: o.Namespace, Labels: Labels(o),
		OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(o, eggov1.GroupVersion().WithKind("Operation"))}}
}

// Job returns the Job of an Operation, of the same name. Its pods are replaced only when they have ended, and a failure
// that another attempt cannot help ends it.
func (r Run) Job() (*batchv1.Job, error) {
	template, err := r.template()
	if err != nil {
		return nil, err
	}
	backoff, ttl, replace := int32(attempts), int32(keptSeconds), batchv1.Failed
	name := Container
	return &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: Meta(r.Operation, r.Operation.Name),
		Spec: batchv1.JobSpec{
			BackoffLimit: &backoff, TTLSecondsAfterFinished: &ttl, PodReplacementPolicy: &replace, Template: template,
			PodFailurePolicy: &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
				{Action: batchv1.PodFailurePolicyActionIgnore,
					OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{
						{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}},
				{Action: batchv1.PodFailurePolicyActionFailJob,
					OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{ContainerName: &name,
						Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: Final()}},
			}},
		},
	}, nil
}

// Final returns the exit codes after which another attempt cannot help: usage, login, preflight and bundle.
func Final() []int32 { return []int32{2, 4, 5, 6} }

func (r Run) template() (corev1.PodTemplateSpec, error) {
	grace := int64(graceful)
	spec := corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, ServiceAccountName: r.Operation.Name,
		TerminationGracePeriodSeconds: &grace, HostNetwork: r.Cluster.Spec.HostNetwork,
		SecurityContext: podSecurity(),
	}
	// As the operator itself: a meta cluster may have nothing but control planes.
	spec.Tolerations = []corev1.Toleration{{Key: "node-role.kubernetes.io/control-plane",
		Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}}
	if spec.HostNetwork {
		spec.DNSPolicy = corev1.DNSClusterFirstWithHostNet
	}
	if raw := r.Cluster.Spec.EggoAffinity; raw != nil && len(raw.Raw) > 0 {
		if err := json.Unmarshal(raw.Raw, &spec.Affinity); err != nil {
			return corev1.PodTemplateSpec{}, err
		}
	}
	for _, name := range r.Image.PullSecrets {
		spec.ImagePullSecrets = append(spec.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
	}
	c := corev1.Container{
		Name: Container, Image: r.Image.Name, ImagePullPolicy: r.Image.PullPolicy,
		Args: []string{"run", "--namespace", r.Operation.Namespace, "--operation", r.Operation.Name},
		Env: []corev1.EnvVar{{Name: "HOME", Value: tempDir}, {Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		SecurityContext:          containerSecurity(),
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"),
				corev1.ResourceMemory: resource.MustParse("300Mi"), corev1.ResourceEphemeralStorage: r.storage()},
			Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory),
				corev1.ResourceEphemeralStorage: r.storage()}},
	}
	m := &mounts{pod: &spec, container: &c}
	r.mount(m)
	spec.Containers = []corev1.Container{c}
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: Labels(r.Operation)}, Spec: spec}, nil
}

func podSecurity() *corev1.PodSecurityContext {
	yes, id := true, int64(program.User)
	return &corev1.PodSecurityContext{RunAsNonRoot: &yes, RunAsUser: &id, RunAsGroup: &id, FSGroup: &id,
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}
}

func containerSecurity() *corev1.SecurityContext {
	yes, no := true, false
	return &corev1.SecurityContext{AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes,
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}
}

// storage returns the ephemeral storage of the pod: each bundle is unpacked once, and those that are fetched are files
// of it as well.
func (r Run) storage() resource.Quantity {
	total := int64(spare)
	for _, b := range r.Input.Bundles {
		total += 3 * cmp.Or(b.Size, unknown)
	}
	return *resource.NewQuantity(total, resource.BinarySI)
}

func (r Run) mount(m *mounts) {
	state := resource.MustParse(scratch)
	m.add("state", StateDir, false, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
		Medium: corev1.StorageMediumMemory, SizeLimit: &state}})
	m.add("tmp", tempDir, false, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
	m.add("bundles", BundlesDir, false, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
	mode := int32(0o400)
	secret := func(name string) corev1.VolumeSource {
		return corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name, DefaultMode: &mode}}
	}
	for _, name := range r.Input.Logins {
		m.add("login", path.Join(render.LoginsDir, name), true, secret(name))
	}
	var claims, pulls []string
	for _, b := range r.Input.Bundles {
		if b.Claim != "" && !slices.Contains(claims, b.Claim) {
			claims = append(claims, b.Claim)
			m.claim("claim", path.Join(BundlesDir, "claim", b.Claim), true, b.Claim)
		}
		if b.PullSecret != "" && !slices.Contains(pulls, b.PullSecret) {
			pulls = append(pulls, b.PullSecret)
			m.add("pull", path.Join(PullDir, b.PullSecret), true, secret(b.PullSecret))
		}
	}
	if r.Input.Signers != "" {
		m.add("signers", signersDir, true, corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: r.Input.Signers}}})
	}
	if name := r.Cluster.Spec.SnapshotClaim; name != "" {
		m.claim("snapshots", SnapshotsDir, false, name)
	}
	if b := r.Cluster.Spec.Backup; b != nil {
		m.claim("backups", BackupsDir, false, b.Claim)
	}
}
