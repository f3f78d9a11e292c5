package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/operation/desired"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/operator/operation"
	"github.com/eggo-k8s/eggo/internal/operator/pod"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// annotationLost has the names of machines that a run removes without asking them, separated by commas.
const annotationLost = v1.Group + "/lost"

// attempt is an Operation that is to be made.
type attempt struct {
	verb   v1.Verb
	args   *v1.OperationArgs
	q      request.Request
	config []byte // deploy.yaml; nil: that of the state
	pod    pod.Input
	digest string
	lost   []string
	exists *v1.Operation
	plain  bool // the Operation controller makes the request of it
}

// name returns the name of the Operation: the same attempt has the same name.
func (a *attempt) name(c *v1.Cluster) string {
	return c.Name + "-" + string(a.verb) + "-" + a.digest[:shortest]
}

// shortest is how many characters of a digest are in a name.
const shortest = 8

func (a *attempt) operation(c *v1.Cluster) *v1.Operation {
	o := &v1.Operation{ObjectMeta: metav1.ObjectMeta{Name: a.name(c), Namespace: c.Namespace,
		Labels:          map[string]string{v1.LabelCluster: c.Name},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(c, v1.GroupVersion().WithKind("Cluster"))},
	}, Spec: v1.OperationSpec{ClusterRef: v1.OperationCluster{Name: c.Name}, Verb: a.verb, Args: a.args,
		SpecDigest: a.digest}}
	if a.plain {
		o.Spec.SpecDigest = ""
	}
	if len(a.lost) > 0 {
		o.Annotations = map[string]string{annotationLost: strings.Join(a.lost, ",")}
	}
	return o
}

// input returns the Secret of the Operation.
func (a *attempt) input(o *v1.Operation) (*corev1.Secret, error) {
	return operation.Input(o, a.q, a.config, a.pod)
}

// verbOf returns the verb of the Operation for a request.
func verbOf(q request.Request) v1.Verb {
	switch q.(type) {
	case request.Delete:
		return v1.VerbDelete
	case request.Upgrade:
		return v1.VerbUpgrade
	case request.Cleanup:
		return v1.VerbCleanup
	case request.Renew:
		return v1.VerbRenew
	}
	return v1.VerbDeploy
}

// attempt returns the Operation of a request. A fault is why there cannot be one.
func (w *world) attempt(ctx context.Context, q request.Request, d desired.Difference, target string, want description,
	salt string) (*attempt, *event.Fault, error) {
	out := &attempt{pod: want.pod, args: &v1.OperationArgs{TakeOver: w.takeOver()}}
	file := want
	switch r := q.(type) {
	case request.Join:
		// A deploy of the file with the machines that join and those that still have to leave: it has their logins too.
		var err error
		if file, err = w.joined(ctx, target); err != nil {
			fault, err := usage(err)
			return nil, fault, err
		}
		if file.problems.HasErrors() {
			return nil, event.AsFault(file.problems.Err()), nil
		}
		q, out.config, out.pod = request.Deploy{}, file.file.Text, file.pod
	case request.Deploy:
		if r.Source.File != "" {
			out.config, r.Source = want.file.Text, request.Source{}
		}
		q = r
	case request.Delete:
		out.args.Nodes, out.args.Force, out.args.Purge, out.lost = r.Names, r.Force, r.Purge, w.lost()
	case request.Upgrade:
		if w.cluster.Spec.SnapshotClaim == "" {
			return nil, event.NewFault(event.ClassUsage, "operator.no-claim", nil, "cluster", w.cluster.Name, "verb",
				string(v1.VerbUpgrade), "field", "spec.snapshotClaim"), nil
		}
		out.args.Version = target
		if err := w.upgrading(ctx, out, d, target); err != nil {
			fault, err := usage(err)
			return nil, fault, err
		}
	}
	common := operation.Options(w.cluster, out.args)
	common.Accepted = file.file.Accepted
	out.q, out.verb = request.With(q, common), verbOf(q)
	if reflect.DeepEqual(out.args, &v1.OperationArgs{}) {
		out.args = nil
	}
	err := out.seal(w, append(file.logins, salt))
	return out, nil, err
}

// joined describes the cluster with all machines that it has and gets. While an upgrade is still to come, its bundles
// are those that are installed.
func (w *world) joined(ctx context.Context, target string) (description, error) {
	var keep []string
	for _, m := range w.leaving() {
		keep = append(keep, m.Name)
	}
	version := target
	if v := w.installed(); v != "" {
		version = v
	}
	return w.describe(ctx, version, keep)
}

// upgrading adds the bundles of the versions on the way, and of the one that is installed.
func (w *world) upgrading(ctx context.Context, out *attempt, d desired.Difference, target string) error {
	way, fault := w.way(d.From, target)
	if fault != nil {
		return fault
	}
	for _, v := range append([]string{w.installed()}, way...) {
		more, err := w.describe(ctx, v, nil)
		if err != nil {
			return err
		}
		for _, b := range more.pod.Bundles {
			if !slices.ContainsFunc(out.pod.Bundles, func(o pod.Source) bool { return o.Path == b.Path }) {
				out.pod.Bundles = append(out.pod.Bundles, b)
			}
		}
	}
	return nil
}

// takeOver returns the number of AnnotationTakeOver; 0 without one.
func (w *world) takeOver() int64 {
	n, err := strconv.ParseInt(w.cluster.Annotations[v1.AnnotationTakeOver], 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// seal computes the digest of everything that the attempt is made of, and of the annotations that have it made again.
func (a *attempt) seal(w *world, logins []string) error {
	text, err := request.Encode(a.q)
	if err != nil {
		return err
	}
	all, err := json.Marshal(struct {
		Request, Config, Has []byte
		Pod                  pod.Input
		Logins               []string
		Retry                string
		Lost                 []string
	}{text, a.config, w.has.text, a.pod, logins, w.cluster.Annotations[v1.AnnotationRetry], a.lost})
	if err != nil {
		return err
	}
	sum := sha256.Sum256(all)
	a.digest = hex.EncodeToString(sum[:])
	return nil
}
