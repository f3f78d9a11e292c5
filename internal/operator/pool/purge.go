package pool

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/operator/conditions"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// isQuarantined reports whether a machine left a cluster without a cleanup.
func isQuarantined(m *v1.Machine) bool {
	x := meta.FindStatusCondition(m.Status.Conditions, v1.ConditionClean)
	return x != nil && x.Status == metav1.ConditionFalse && x.Reason == v1.ReasonQuarantined
}

// purge cleans a machine that is in quarantine and answers again, and probes it once more. Only what the former cluster
// has left is removed: a machine that somebody has installed meanwhile is left alone. The error is that of the API
// server, or of the end of the process.
func (r *Machines) purge(ctx context.Context, m *v1.Machine, p *probe) error {
	if p.found == nil || !isQuarantined(m) {
		return nil
	}
	claim, err := r.claim(ctx, m)
	if err != nil || claim != nil {
		return err
	}
	is, was := p.found.Facts, m.Status.Facts
	if is.Cluster != "" && is.Cluster != m.Status.Cluster ||
		was != nil && was.Owner != "" && is.Owner != "" && was.Owner != is.Owner {
		return nil
	}
	select {
	case r.purges <- struct{}{}:
		defer func() { <-r.purges }()
	default: // others are being cleaned
		p.next = p.at.Add(r.Jitter(firstRetry))
		return nil
	}
	t, f, err := r.target(ctx, m, p.found.secret)
	if err != nil {
		return err
	}
	if f == nil {
		t.Cluster, t.HostKeys = m.Status.Cluster, p.found.HostKeys
		f, err = r.cleaned(ctx, t, p)
		if err != nil {
			return err
		}
	}
	if f != nil {
		p.fails, p.next = p.fails+1, p.at.Add(r.Jitter(probeInterval))
		r.Events.Event(m, corev1.EventTypeWarning, conditions.Reason(f.Code),
			event.Clip(conditions.Sentence(r.printer, f), 1000))
	}
	return nil
}

// cleaned cleans a machine, and notes how it is found afterwards. The fault is that of the cleanup.
func (r *Machines) cleaned(ctx context.Context, t Target, p *probe) (*event.Fault, error) {
	limited, cancel := context.WithTimeout(ctx, purgeTimeout)
	defer cancel()
	err := r.Prober.Purge(limited, t)
	if err == nil {
		t.Cluster = ""
		var after *Found
		if after, err = r.Prober.Probe(limited, t); err == nil {
			after.secret = p.found.secret
			p.found, p.purged = after, true
			return nil, nil
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return event.AsFault(err), nil
}

// lost returns the cluster that a machine was bound to, whose binding has disappeared without a release, if the cluster
// still exists: the Binder restores the binding.
func (r *Machines) lost(ctx context.Context, m *v1.Machine) (*claim, error) {
	ref := m.Status.ClusterRef
	if ref == nil || !isBound(m) {
		return nil, nil
	}
	var c v1.Cluster
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: ref.Name}, &c)
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return &claim{cluster: ref.Name, uid: ref.UID, roles: m.Status.Roles}, nil
}

// isBound reports whether a cluster has a machine and has not released it, by its status.
func isBound(m *v1.Machine) bool {
	x := meta.FindStatusCondition(m.Status.Conditions, v1.ConditionClean)
	return m.Status.ClusterRef != nil && x != nil && x.Status == metav1.ConditionFalse && x.Reason == v1.ReasonBound
}
