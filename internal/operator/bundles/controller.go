package bundles

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operator/conditions"
	"github.com/eggo-k8s/eggo/internal/operator/gather"
	"github.com/eggo-k8s/eggo/internal/operator/pod"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

const (
	inspectionsAtOnce = 4 // of one Infrastructure
	again             = 10 * time.Minute
	soon              = 30 * time.Second
	// annotationReport is on the Job of an inspection that has ended, with its report: its pod may be removed.
	annotationReport = v1.Group + "/report"
)

// Infrastructures inspects the bundles of Infrastructures, each in a Job, and writes what it found into their status.
type Infrastructures struct {
	Client client.Client
	Live   client.Reader // claims, ConfigMaps and pods, which are not cached
	Events record.EventRecorder
	Image  pod.Image
	Now    func() time.Time // nil: the clock of this host

	once    sync.Once
	printer *i18n.Printer
}

// SetUp registers the controller with a manager.
func (r *Infrastructures) SetUp(m ctrl.Manager) error {
	changed := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})
	return ctrl.NewControllerManagedBy(m).Named("infrastructures").
		For(&v1.Infrastructure{}, builder.WithPredicates(changed)).Owns(&batchv1.Job{}).Complete(r)
}

// outcome is the current knowledge of one bundle.
type outcome struct {
	found   v1.BundleStatus
	fault   *event.Fault
	pending bool
}

// Reconcile implements reconcile.Reconciler.
func (r *Infrastructures) Reconcile(ctx context.Context, q reconcile.Request) (reconcile.Result, error) {
	r.once.Do(func() {
		r.printer = i18n.NewPrinter(i18n.English)
		if r.Now == nil {
			r.Now = time.Now
		}
	})
	var infra v1.Infrastructure
	if err := r.Client.Get(ctx, q.NamespacedName, &infra); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !infra.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil
	}
	bare := infra.DeepCopy()
	bare.Status = v1.InfrastructureStatus{} // else upstream's claim has the versions that were found before
	sources := gather.Bundles(bare, "")
	all := make([]outcome, len(sources))
	signers, fault, err := r.signers(ctx, &infra)
	if err != nil {
		return reconcile.Result{}, err
	}
	running := 0
	names := map[string]bool{}
	for i, b := range sources {
		if all[i].fault = fault; fault != nil {
			continue
		}
		if all[i], err = r.bundle(ctx, &infra, b, signers, &running, names); err != nil {
			return reconcile.Result{}, err
		}
	}
	if err := r.sweep(ctx, &infra, names); err != nil {
		return reconcile.Result{}, err
	}
	s := r.assess(&infra, sources, all)
	if err := r.write(ctx, &infra, s); err != nil {
		return reconcile.Result{}, err
	}
	after := again
	if meta.IsStatusConditionTrue(s.Conditions, v1.ConditionReconciling) {
		after = soon
	}
	return reconcile.Result{RequeueAfter: after}, nil
}

// signers returns the digest of the allowed signers; "" if bundles need none.
func (r *Infrastructures) signers(ctx context.Context, infra *v1.Infrastructure) (string, *event.Fault, error) {
	if infra.Spec.SignersRef == nil {
		return "", nil, nil
	}
	var m corev1.ConfigMap
	at := client.ObjectKey{Namespace: infra.Namespace, Name: infra.Spec.SignersRef.Name}
	err := r.Live.Get(ctx, at, &m)
	if client.IgnoreNotFound(err) != nil {
		return "", nil, err
	}
	text := m.Data[v1.SignersKey]
	if err != nil || text == "" {
		return "", event.NewFault(event.ClassUsage, "bundles.signers", nil, "name", at.Name, "key", v1.SignersKey), nil
	}
	return digest(text), nil, nil
}

func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}

// bundle returns what is known of one bundle, and begins its inspection.
func (r *Infrastructures) bundle(ctx context.Context, infra *v1.Infrastructure, b v1.BundleSource, signers string,
	running *int, names map[string]bool) (outcome, error) {
	if f, err := r.unusable(ctx, infra, b); f != nil || err != nil {
		return outcome{fault: f}, err
	}
	source := pod.SourceOf(b)
	text, err := json.Marshal(source)
	if err != nil {
		return outcome{}, err
	}
	id := digest(string(infra.UID), string(text), signers, infra.Annotations[v1.AnnotationRetry])
	i := pod.Inspection{Infrastructure: infra, Image: r.Image, Source: source, Name: "eggo-inspect-" + id[:20]}
	if signers != "" {
		i.Signers = infra.Spec.SignersRef.Name
	}
	names[i.Name] = true
	var job batchv1.Job
	err = r.Client.Get(ctx, client.ObjectKey{Namespace: infra.Namespace, Name: i.Name}, &job)
	switch {
	case apierrors.IsNotFound(err) && *running >= inspectionsAtOnce:
		return outcome{pending: true}, nil
	case apierrors.IsNotFound(err):
		*running++
		made, err := i.Job()
		if err != nil {
			return outcome{}, err
		}
		err = r.Client.Create(ctx, made)
		if apierrors.IsAlreadyExists(err) {
			err = nil
		}
		return outcome{pending: true}, err
	case err != nil:
		return outcome{}, err
	}
	report, done, err := r.report(ctx, &job)
	if err != nil || !done {
		*running++
		return outcome{pending: true}, err
	}
	return r.result(ctx, b, &job, report)
}

// unusable returns why a bundle cannot be read at all; nil if it may be possible.
func (r *Infrastructures) unusable(ctx context.Context, infra *v1.Infrastructure, b v1.BundleSource) (*event.Fault,
	error) {
	switch {
	case b.Claim != nil:
		if p := b.Claim.Path; p == "" || strings.HasPrefix(p, "/") || slices.ContainsFunc(strings.Split(p, "/"),
			func(part string) bool { return part == "" || strings.HasPrefix(part, ".") }) {
			return event.NewFault(event.ClassUsage, "bundles.path", nil, "path", p), nil
		}
		var claim corev1.PersistentVolumeClaim
		err := r.Live.Get(ctx, client.ObjectKey{Namespace: infra.Namespace, Name: b.Claim.Name}, &claim)
		switch {
		case apierrors.IsNotFound(err):
			return event.NewFault(event.ClassUsage, "bundles.claim-missing", nil, "claim", b.Claim.Name), nil
		case err != nil:
			return nil, err
		case claim.Status.Phase != corev1.ClaimBound:
			return event.NewFault(event.ClassUsage, "bundles.claim-unbound", nil, "claim", b.Claim.Name, "phase",
				string(claim.Status.Phase)), nil
		}
	case b.URL != "":
		u, err := url.Parse(b.URL)
		if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
			return event.NewFault(event.ClassUsage, "bundles.url", nil, "url", b.URL), nil
		}
		if config.SpecialAddresses().HasHost(u.Hostname()) {
			return event.NewFault(event.ClassUsage, "bundles.address", nil, "addr", u.Hostname()), nil
		}
	}
	return nil, nil
}

// report returns the report of a Job, if it has ended. It is kept on the Job.
func (r *Infrastructures) report(ctx context.Context, job *batchv1.Job) (Report, bool, error) {
	text := job.Annotations[annotationReport]
	if text == "" {
		if ended(job).IsZero() {
			return Report{}, false, nil
		}
		var err error
		if text, err = r.message(ctx, job); err != nil {
			return Report{}, false, err
		}
		old := job.DeepCopy()
		if job.Annotations == nil {
			job.Annotations = map[string]string{}
		}
		job.Annotations[annotationReport] = text
		if err := r.Client.Patch(ctx, job, client.MergeFrom(old)); err != nil {
			return Report{}, false, err
		}
	}
	var out Report
	if json.Unmarshal([]byte(text), &out) != nil || out == (Report{}) {
		out = Report{Fault: event.NewFault(event.ClassFailed, "bundles.inspection", nil, "job", job.Name)}
	}
	return out, true, nil
}

// ended returns when a Job has ended; zero if it has not.
func ended(job *batchv1.Job) time.Time {
	for _, c := range job.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// message returns the report of the last pod of a Job; "-" if there is none.
func (r *Infrastructures) message(ctx context.Context, job *batchv1.Job) (string, error) {
	var pods corev1.PodList
	err := r.Live.List(ctx, &pods, client.InNamespace(job.Namespace),
		client.MatchingLabels{batchv1.JobNameLabel: job.Name})
	if err != nil {
		return "", err
	}
	for _, p := range pods.Items {
		for _, c := range p.Status.ContainerStatuses {
			if t := c.State.Terminated; t != nil && t.ExitCode == 0 && strings.HasPrefix(t.Message, "{") {
				return t.Message, nil
			}
		}
	}
	return "-", nil
}

// result returns a bundle by its report. A Job that found something wrong is deleted after a while, so that the bundle
// is inspected again.
func (r *Infrastructures) result(ctx context.Context, b v1.BundleSource, job *batchv1.Job, report Report) (outcome,
	error) {
	out := outcome{found: v1.BundleStatus{Version: report.Version, Arch: report.Arch, Digest: report.Digest,
		SignedBy: report.SignedBy, Size: report.Size, OS: b.OS, Source: sourceOf(b)}, fault: report.Fault}
	if out.fault == nil && (b.Version != "" && b.Version != report.Version || b.Arch != report.Arch) {
		out.fault = event.NewFault(event.ClassBundle, "bundles.other", nil, "source", sourceOf(b), "want",
			strings.TrimSpace(b.Version+" "+b.Arch), "is", report.Version+" "+report.Arch)
	}
	if out.fault == nil || r.Now().Sub(ended(job)) < again {
		return out, nil
	}
	err := r.Client.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground))
	return out, client.IgnoreNotFound(err)
}

// sourceOf returns a bundle as its status names it.
func sourceOf(b v1.BundleSource) string {
	switch {
	case b.Claim != nil:
		return b.Claim.Name + "/" + b.Claim.Path
	case b.Image != "":
		return b.Image
	}
	return b.URL
}

// sweep deletes inspections of what the Infrastructure no longer has.
func (r *Infrastructures) sweep(ctx context.Context, infra *v1.Infrastructure, names map[string]bool) error {
	var jobs batchv1.JobList
	err := r.Client.List(ctx, &jobs, client.InNamespace(infra.Namespace),
		client.MatchingLabels{"app.kubernetes.io/component": "inspect"})
	if err != nil {
		return err
	}
	for i := range jobs.Items {
		j := &jobs.Items[i]
		if names[j.Name] || !metav1.IsControlledBy(j, infra) {
			continue
		}
		err := r.Client.Delete(ctx, j, client.PropagationPolicy(metav1.DeletePropagationBackground))
		if client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// assess returns the status of an Infrastructure.
func (r *Infrastructures) assess(infra *v1.Infrastructure, sources []v1.BundleSource, all []outcome,
) *v1.InfrastructureStatus {
	s := &v1.InfrastructureStatus{ObservedGeneration: infra.Generation,
		Conditions: slices.Clone(infra.Status.Conditions)}
	var first *event.Fault
	bad, pending := 0, 0
	for i, o := range all {
		switch {
		case o.fault != nil:
			if bad++; first == nil {
				first = o.fault
			}
		case o.pending:
			pending++
			for _, old := range infra.Status.Bundles { // as it was, until the inspection has ended
				if old.Source == sourceOf(sources[i]) && old.Arch == sources[i].Arch && old.OS == sources[i].OS {
					s.Bundles = append(s.Bundles, old)
				}
			}
		default:
			s.Bundles = append(s.Bundles, o.found)
		}
	}
	if len(sources) == 0 {
		first = event.NewFault(event.ClassUsage, "bundles.none", nil)
	}
	set := func(c metav1.Condition) {
		c.ObservedGeneration, c.LastTransitionTime = infra.Generation, metav1.NewTime(r.Now())
		meta.SetStatusCondition(&s.Conditions, c)
	}
	no := func(kind string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: v1.ReasonSucceeded}
	}
	main := conditions.Holding(v1.ConditionBundlesReady, v1.ReasonSucceeded, "")
	reconciling, stalled := no(v1.ConditionReconciling), no(v1.ConditionStalled)
	switch {
	case first != nil:
		main = conditions.Failing(r.printer, v1.ConditionBundlesReady, first)
		if pending == 0 {
			stalled = conditions.Holding(v1.ConditionStalled, main.Reason, main.Message)
		}
	case pending > 0:
		main = metav1.Condition{Type: v1.ConditionBundlesReady, Status: metav1.ConditionFalse,
			Reason: v1.ReasonProgressing, Message: r.printer.T("bundles.inspecting")}
	}
	if pending > 0 {
		reconciling = conditions.Holding(v1.ConditionReconciling, v1.ReasonProgressing,
			r.printer.T("bundles.inspecting"))
	}
	ready := main
	ready.Type = v1.ConditionReady
	for _, c := range []metav1.Condition{main, ready, reconciling, stalled} {
		set(c)
	}
	return s
}

// write applies a status, if it has changed.
func (r *Infrastructures) write(ctx context.Context, infra *v1.Infrastructure, s *v1.InfrastructureStatus) error {
	if equality.Semantic.DeepEqual(infra.Status, *s) {
		return nil
	}
	err := conditions.Apply(ctx, r.Client, "Infrastructure", client.ObjectKeyFromObject(infra), infra.ResourceVersion,
		"eggops-bundles", s)
	if err != nil {
		return err
	}
	was := meta.FindStatusCondition(infra.Status.Conditions, v1.ConditionBundlesReady)
	now := meta.FindStatusCondition(s.Conditions, v1.ConditionBundlesReady)
	if was != nil && was.Status == now.Status && was.Reason == now.Reason || now.Reason == v1.ReasonProgressing {
		return nil
	}
	kind := corev1.EventTypeNormal
	if now.Status == metav1.ConditionFalse {
		kind = corev1.EventTypeWarning
	}
	r.Events.Event(infra, kind, now.Reason, event.Clip(now.Message, 1000))
	return nil
}
