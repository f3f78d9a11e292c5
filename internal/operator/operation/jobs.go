package operation

import (
	"context"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	eggov1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/operator/pod"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Jobs begins runs as Jobs.
type Jobs struct {
	Client client.Client // reads Jobs from a cache, and pods without one
}

// Launch implements Launcher. The rights and the empty Secrets that the pod writes exist before the Job does.
func (j *Jobs) Launch(ctx context.Context, r pod.Run) error {
	job, err := r.Job()
	if err != nil {
		return event.NewFault(event.ClassUsage, "operator.affinity", err, "cluster", r.Cluster.Name)
	}
	objects := pod.Access(r.Operation)
	objects = append(objects, &corev1.Secret{ObjectMeta: pod.Meta(r.Operation, eggov1.LogSecret(r.Operation.Name))},
		kubeconfig(r.Cluster), job)
	for _, o := range objects {
		if err := j.Client.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

// kubeconfig returns the empty Secret for the kubeconfig of a Cluster, which goes with it.
func kubeconfig(c *eggov1.Cluster) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: eggov1.KubeconfigSecret(c.Name), Namespace: c.Namespace,
		Labels: map[string]string{eggov1.LabelCluster: c.Name},
		OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(c, eggov1.GroupVersion().WithKind("Cluster"))}}}
}

// Outcome implements Launcher.
func (j *Jobs) Outcome(ctx context.Context, o *eggov1.Operation) (Outcome, error) {
	job := &batchv1.Job{}
	err := j.Client.Get(ctx, client.ObjectKeyFromObject(o), job)
	if apierrors.IsNotFound(err) || err == nil && !metav1.IsControlledBy(job, o) {
		return Outcome{}, nil
	}
	if err != nil {
		return Outcome{}, err
	}
	out := Outcome{Begun: true, Idle: job.Status.Active == 0,
		Attempts: job.Status.Active + job.Status.Failed + job.Status.Succeeded}
	for _, c := range job.Status.Conditions {
		if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) {
			out.Ended = true
		}
	}
	return out, j.pods(ctx, job, &out)
}

// pods adds what the newest pod of a Job shows.
func (j *Jobs) pods(ctx context.Context, job *batchv1.Job, out *Outcome) error {
	var list corev1.PodList
	if err := j.Client.List(ctx, &list, client.InNamespace(job.Namespace),
		client.MatchingLabels{batchv1.JobNameLabel: job.Name}); err != nil {
		return err
	}
	if len(list.Items) == 0 {
		return nil
	}
	newest := slices.MaxFunc(list.Items, func(a, b corev1.Pod) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	out.Pod, out.Waiting = newest.Name, waits(&newest)
	for _, s := range newest.Status.ContainerStatuses {
		if t := s.State.Terminated; s.Name == pod.Container && t != nil {
			code := t.ExitCode
			out.ExitCode = &code
		}
	}
	return nil
}

// waits returns why a pod does not run: it has no node, or its image is not there.
func waits(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Reason + ": " + c.Message
		}
	}
	for _, s := range p.Status.ContainerStatuses {
		if w := s.State.Waiting; w != nil && w.Reason != "ContainerCreating" && w.Reason != "PodInitializing" {
			return w.Reason + ": " + w.Message
		}
	}
	return ""
}

// End implements Launcher.
func (j *Jobs) End(ctx context.Context, o *eggov1.Operation) error {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: o.Name, Namespace: o.Namespace}}
	return client.IgnoreNotFound(j.Client.Delete(ctx, job,
		client.PropagationPolicy(metav1.DeletePropagationBackground)))
}
