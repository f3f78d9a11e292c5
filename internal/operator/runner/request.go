package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/operator/pod"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// wantedFile is how messages call a deploy.yaml that the operator wants.
const wantedFile = "/run/eggo/deploy.yaml"

// verbs are those of Operations as requests; those that begin no run are deploys that are only inspected.
func verbs() map[v1.Verb]request.Verb {
	return map[v1.Verb]request.Verb{
		v1.VerbPreflight: request.VerbDeploy, v1.VerbPlan: request.VerbDeploy, v1.VerbDeploy: request.VerbDeploy,
		v1.VerbJoin: request.VerbJoin, v1.VerbDelete: request.VerbDelete, v1.VerbRenew: request.VerbRenew,
		v1.VerbSnapshot: request.VerbSnapshot, v1.VerbRestore: request.VerbRestore,
		v1.VerbUpgrade: request.VerbUpgrade, v1.VerbUpgradeBack: request.VerbBack, v1.VerbBackup: request.VerbBackup,
		v1.VerbCleanup: request.VerbCleanup,
	}
}

// request returns what the Operation asks for, and the bundles for it: the request in its Secret, or without one the
// verb with the arguments of the Operation. deploy.yaml is that of the Secret, or the cluster's own.
func (r *runner) request(ctx context.Context) (request.Request, []pod.Source, error) {
	cluster, name := r.op.Spec.ClusterRef.Name, v1.InputSecret(r.op.Name)
	in := &corev1.Secret{}
	err := retry(ctx, func() error {
		return client.IgnoreNotFound(r.o.Client.Get(ctx, client.ObjectKey{Namespace: r.o.Namespace, Name: name}, in))
	})
	if err != nil {
		return nil, nil, event.NewFault(event.ClassFailed, "state.secret-read", err, "secret", name)
	}
	refused := func(err error) error {
		return event.NewFault(event.ClassUsage, "operation.input", err, "secret", name)
	}
	q, err := r.asked(in.Data[v1.InputRequest])
	if err != nil {
		return nil, nil, refused(err)
	}
	var needs pod.Input
	if text := in.Data[pod.InputPod]; len(text) > 0 {
		if err := json.Unmarshal(text, &needs); err != nil {
			return nil, nil, refused(err)
		}
	}
	c := q.Base()
	c.Source = request.Source{Cluster: cluster}
	if text := in.Data[v1.InputConfig]; len(text) > 0 {
		c.Source = request.Source{File: wantedFile, Text: text}
		if is, _ := config.Load(text, wantedFile); is != nil && is.Name != cluster {
			return nil, nil, refused(fmt.Errorf("deploy.yaml is of the cluster %q, not %q", is.Name, cluster))
		}
	}
	c.TakeOver = cmp.Or(r.takeOver(), c.TakeOver)
	c.Trust = request.Trust{Signers: r.o.Signers, AllowUnsigned: r.o.Signers == ""}
	return request.With(q, c), needs.Bundles, nil
}

// asked returns the request without its source.
func (r *runner) asked(text []byte) (request.Request, error) {
	want, known := verbs()[r.op.Spec.Verb]
	if !known {
		return nil, fmt.Errorf("unknown verb %q", r.op.Spec.Verb)
	}
	if len(text) == 0 {
		return r.mapped(want)
	}
	q, err := request.Decode(text)
	if err != nil {
		return nil, err
	}
	free := r.op.Spec.Verb == v1.VerbPlan // of any request
	if q.Verb() != want && !free {
		return nil, fmt.Errorf("the request is %s, the Operation %s", q.Verb(), r.op.Spec.Verb)
	}
	switch q := q.(type) { // files of the claims are in the cluster's directory
	case request.Restore:
		q.Snapshot = r.snapshot(filepath.Base(q.Snapshot))
		return q, nil
	case request.Backup:
		q.Dir = ""
		return q, nil
	}
	return q, nil
}

// mapped returns the request of an Operation that has no more than its verb and arguments.
func (r *runner) mapped(verb request.Verb) (request.Request, error) {
	args := r.op.Spec.Args
	if args == nil {
		args = &v1.OperationArgs{}
	}
	switch verb {
	case request.VerbDeploy:
		return request.Deploy{Force: args.Force}, nil
	case request.VerbDelete:
		return request.Delete{Names: args.Nodes, Drain: request.DrainTimeout, Force: args.Force, Purge: args.Purge}, nil
	case request.VerbCleanup:
		return request.Cleanup{Nodes: args.Nodes, Purge: args.Purge}, nil
	case request.VerbRenew:
		return request.Renew{}, nil
	case request.VerbSnapshot:
		return request.Snapshot{}, nil
	case request.VerbRestore:
		return request.Restore{Snapshot: r.snapshot(args.Snapshot)}, nil
	case request.VerbBack:
		return request.Back{Force: args.Force}, nil
	}
	return nil, errors.New("it has no request, which machines, bundles or recipients are named in")
}

// snapshot is the path of a snapshot of the cluster.
func (r *runner) snapshot(name string) string {
	return filepath.Join(r.clusterDir(), "snapshots", name)
}
