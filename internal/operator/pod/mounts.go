package pod

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// mounts adds volumes to a pod and its container.
type mounts struct {
	pod       *corev1.PodSpec
	container *corev1.Container
}

// add mounts a volume at a directory. Names of volumes are numbered: those of Secrets and claims may be too long.
func (m *mounts) add(kind, dir string, readOnly bool, v corev1.VolumeSource) {
	name := kind + "-" + strconv.Itoa(len(m.pod.Volumes))
	m.pod.Volumes = append(m.pod.Volumes, corev1.Volume{Name: name, VolumeSource: v})
	m.container.VolumeMounts = append(m.container.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: dir,
		ReadOnly: readOnly})
}

// claim mounts a claim. One that is mounted twice is one volume.
func (m *mounts) claim(kind, dir string, readOnly bool, claim string) {
	for _, v := range m.pod.Volumes {
		if c := v.PersistentVolumeClaim; c != nil && c.ClaimName == claim {
			m.container.VolumeMounts = append(m.container.VolumeMounts, corev1.VolumeMount{Name: v.Name, MountPath: dir,
				ReadOnly: readOnly})
			return
		}
	}
	m.add(kind, dir, readOnly, corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{
		ClaimName: claim}})
}
