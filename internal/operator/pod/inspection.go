package pod

import (
	"cmp"
	"encoding/json"
	"path"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	eggov1 "github.com/eggo-k8s/eggo/api/v1"
)

// Inspection describes the Job that reads a bundle of an Infrastructure. Its pod has no rights in the cluster. It
// writes its report as termination message.
type Inspection struct {
	Infrastructure *eggov1.Infrastructure
	Name           string // of the Job
	Image          Image
	Source         Source
	Signers        string // name of the ConfigMap; "" for none
}

// inspectTries is how often a pod of an inspection that failed is replaced: a bad bundle is a report, not a failure.
const inspectTries = 2

// Job returns the Job.
func (i Inspection) Job() (*batchv1.Job, error) {
	source, err := json.Marshal(i.Source)
	if err != nil {
		return nil, err
	}
	no, tries := false, int32(inspectTries)
	storage := resource.NewQuantity(spare, resource.BinarySI)
	if i.Source.Claim == "" {
		storage.Add(*resource.NewQuantity(cmp.Or(i.Source.Size, unknown), resource.BinarySI))
	}
	spec := corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, AutomountServiceAccountToken: &no,
		SecurityContext: podSecurity()}
	for _, name := range i.Image.PullSecrets {
		spec.ImagePullSecrets = append(spec.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
	}
	c := corev1.Container{Name: Container, Image: i.Image.Name, ImagePullPolicy: i.Image.PullPolicy,
		Args: []string{"inspect", "--source", string(source)},
		Env:  []corev1.EnvVar{{Name: "HOME", Value: tempDir}}, SecurityContext: containerSecurity(),
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m"),
				corev1.ResourceMemory: resource.MustParse("128Mi"), corev1.ResourceEphemeralStorage: *storage},
			Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("512Mi"),
				corev1.ResourceEphemeralStorage: *storage}},
	}
	m := &mounts{pod: &spec, container: &c}
	m.add("tmp", tempDir, false, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
	m.add("bundles", BundlesDir, false, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
	if i.Source.Claim != "" {
		m.claim("claim", path.Join(BundlesDir, "claim", i.Source.Claim), true, i.Source.Claim)
	}
	if i.Source.PullSecret != "" {
		mode := int32(0o400)
		m.add("pull", path.Join(PullDir, i.Source.PullSecret), true, corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: i.Source.PullSecret, DefaultMode: &mode}})
	}
	if i.Signers != "" {
		m.add("signers", signersDir, true, corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: i.Signers}}})
	}
	spec.Containers = []corev1.Container{c}
	labels := map[string]string{"app.kubernetes.io/name": "eggops", "app.kubernetes.io/component": "inspect"}
	return &batchv1.Job{
		TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{Name: i.Name, Namespace: i.Infrastructure.Namespace, Labels: labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(i.Infrastructure,
				eggov1.GroupVersion().WithKind("Infrastructure"))}},
		Spec: batchv1.JobSpec{BackoffLimit: &tries, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec}},
	}, nil
}
