package pool

import (
	"context"
	"net"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/operator/conditions"
	"github.com/eggo-k8s/eggo/internal/operator/render"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// keepLastProbe is how old lastProbe may be in the status while nothing else changes: a write for each probe of each
// machine would be too many.
const keepLastProbe = 6 * time.Hour

// claim is the cluster that has a machine.
type claim struct {
	cluster, uid string
	roles        []v1.Role
}

// claim returns the cluster that has a machine; nil if it is free.
func (r *Machines) claim(ctx context.Context, m *v1.Machine) (*claim, error) {
	var all v1.MachineBindingList
	err := r.Client.List(ctx, &all, client.InNamespace(m.Namespace), client.MatchingFields{indexMachine: m.Name},
		client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, err
	}
	for i := range all.Items {
		b := &all.Items[i]
		for _, x := range b.Spec.Machines {
			if x.Name != m.Name {
				continue
			}
			out := &claim{cluster: clusterOf(b), roles: slices.Clone(x.Roles)}
			if b.Spec.ClusterRef != nil {
				out.uid = b.Spec.ClusterRef.UID
			}
			return out, nil
		}
	}
	return r.lost(ctx, m)
}

// assess returns the status of a machine after a probe. What the probe does not show stays as it is.
func (r *Machines) assess(m *v1.Machine, p *probe, c *claim) *v1.MachineStatus {
	s := m.Status.DeepCopy()
	s.ObservedGeneration = m.Generation
	s.ClusterRef, s.Roles, s.RoleBindings = nil, nil, 0
	if !isQuarantined(m) || p.purged {
		s.Cluster = "" // else it names the former one: a cleanup needs it
	}
	if c != nil {
		s.Cluster, s.ClusterRef, s.Roles = c.cluster, &v1.ClusterReference{Name: c.cluster, UID: c.uid}, c.roles
		for _, role := range c.roles {
			s.RoleBindings |= role.Bit()
		}
	}
	set := func(x metav1.Condition) {
		x.ObservedGeneration, x.LastTransitionTime = m.Generation, metav1.NewTime(r.Now())
		meta.SetStatusCondition(&s.Conditions, x)
	}
	reinstalled := false
	if !p.former {
		reinstalled = r.probed(m, p, s, set, c != nil)
	}
	set(r.clean(m, p, c, reinstalled || p.purged))
	ready := r.ready(m, s, c)
	set(ready)
	s.Status, s.ErrorMessage = 0, ""
	if ready.Status != metav1.ConditionTrue {
		s.ErrorMessage = ready.Message
	}
	if !meta.IsStatusConditionTrue(s.Conditions, v1.ConditionReachable) {
		s.Status = 1
	}
	slices.SortFunc(s.Conditions, func(a, b metav1.Condition) int {
		order := []string{v1.ConditionReady, v1.ConditionReachable, v1.ConditionSuitable, v1.ConditionClean}
		return slices.Index(order, a.Type) - slices.Index(order, b.Type)
	})
	return s
}

// probed writes the result of a probe into a status. It reports whether the machine was installed again since the last
// one.
func (r *Machines) probed(m *v1.Machine, p *probe, s *v1.MachineStatus, set func(metav1.Condition), bound bool) bool {
	if old := s.LastProbe; old == nil || p.at.Sub(old.Time) > keepLastProbe || changed(m, p) {
		s.LastProbe = &metav1.Time{Time: p.at}
	}
	if p.fault != nil {
		set(conditions.Failing(r.printer, v1.ConditionReachable, r.advised(m, p.fault)))
		if meta.FindStatusCondition(s.Conditions, v1.ConditionSuitable) == nil {
			set(conditions.Unknown(v1.ConditionSuitable))
		}
		if shown := p.fault.Args["fingerprint"]; shown != "" && strings.HasPrefix(p.fault.Code, "ssh.hostkey") {
			s.Fingerprints = []string{event.Clean(shown)}
		}
		return false
	}
	set(conditions.Holding(v1.ConditionReachable, v1.ReasonSucceeded, ""))
	s.Fingerprints = nil
	for _, key := range p.found.HostKeys {
		s.Fingerprints = append(s.Fingerprints, fingerprint(key))
	}
	if m.Spec.HostKeyPolicy == v1.HostKeysOnFirst && len(m.Spec.HostKeys) == 0 {
		s.TrustedHostKeys = p.found.HostKeys
	}
	was := s.Facts
	facts := p.found.Facts
	s.Facts = &facts
	want := render.Arch(m.Spec.Arch)
	switch {
	case bound:
		set(conditions.Holding(v1.ConditionSuitable, v1.ReasonBound, ""))
	case want != "" && want != facts.Arch:
		set(conditions.Failing(r.printer, v1.ConditionSuitable,
			event.NewFault(event.ClassPreflight, "pool.arch", nil, "want", want, "is", facts.Arch)))
	case len(p.found.Problems) > 0:
		x := conditions.Failing(r.printer, v1.ConditionSuitable, p.found.Problems[0])
		for _, f := range p.found.Problems[1:] {
			x.Message = conditions.Clip(r.printer.Join(x.Message, conditions.Sentence(r.printer, f)))
		}
		set(x)
	default:
		set(conditions.Holding(v1.ConditionSuitable, v1.ReasonSucceeded, ""))
	}
	return was != nil && was.MachineID != "" && facts.MachineID != "" && was.MachineID != facts.MachineID
}

// changed reports whether a probe says something else than the status.
func changed(m *v1.Machine, p *probe) bool {
	s := m.Status
	return conditions.Is(s.Conditions, v1.ConditionReachable, m.Generation) != (p.fault == nil) ||
		p.found != nil && !equality.Semantic.DeepEqual(s.Facts, &p.found.Facts)
}

// advised returns the fault of a connection with what to do about it in the objects of the operator.
func (r *Machines) advised(m *v1.Machine, f *event.Fault) *event.Fault {
	at, path := f.Args["addr"], `"hostKeys":["`+f.Args["key"]+`"]`
	if host, _, err := net.SplitHostPort(at); err == nil {
		at = host
	}
	switch {
	case f.Code == "ssh.hostkey-unknown" && at == m.Spec.IP:
		return event.NewFault(f.Class, "pool.hostkey-unknown", nil, "machine", m.Name, "namespace", m.Namespace,
			"type", f.Args["type"], "fingerprint", f.Args["fingerprint"], "patch", `{"spec":{`+path+`}}`)
	case f.Code == "ssh.hostkey-unknown":
		return event.NewFault(f.Class, "pool.hostkey-unknown-hop", nil, "host", at, "type", f.Args["type"],
			"fingerprint", f.Args["fingerprint"], "key", f.Args["key"])
	case f.Code == "ssh.hostkey-changed":
		return event.NewFault(f.Class, "pool.hostkey-changed", nil, "host", at, "shown",
			f.Args["type"]+" "+f.Args["fingerprint"], "known", f.Args["known"])
	}
	return f
}

// clean returns the condition Clean. A machine that a cluster had is clean when Cleaned was called for it, or when it
// was cleaned or installed again since (renewed).
func (r *Machines) clean(m *v1.Machine, p *probe, c *claim, renewed bool) metav1.Condition {
	old := meta.FindStatusCondition(m.Status.Conditions, v1.ConditionClean)
	is := func(reason string) bool {
		return old != nil && old.Status == metav1.ConditionFalse && old.Reason == reason
	}
	yes := old != nil && old.Status == metav1.ConditionTrue
	switch {
	case c != nil && m.Status.ClusterRef != nil && m.Status.ClusterRef.Name == c.cluster &&
		(yes || is(v1.ReasonQuarantined)): // it was released, and the Binder has not seen that yet
		return *old
	case c != nil:
		return conditions.Failing(r.printer, v1.ConditionClean,
			event.NewFault(event.ClassPreflight, "pool.bound", nil, "cluster", c.cluster))
	case is(v1.ReasonBound):
		return conditions.Failing(r.printer, v1.ConditionClean,
			event.NewFault(event.ClassPreflight, "pool.unbound", nil, "cluster", m.Status.Cluster))
	case is(v1.ReasonQuarantined) && !renewed, is(conditions.Reason("pool.unbound")) && !renewed:
		return *old
	case p.found == nil && old != nil:
		return *old
	case p.found == nil:
		return conditions.Unknown(v1.ConditionClean)
	case p.found.Foreign != nil:
		x := conditions.Failing(r.printer, v1.ConditionClean, p.found.Foreign)
		x.Reason = v1.ReasonNotClean
		return x
	case p.found.Facts.Recorded:
		return conditions.Failing(r.printer, v1.ConditionClean,
			event.NewFault(event.ClassPreflight, "pool.not-clean", nil))
	}
	return conditions.Holding(v1.ConditionClean, v1.ReasonSucceeded, "")
}

// ready returns the condition Ready: a cluster may get the machine, or has it and it is reached.
func (r *Machines) ready(m *v1.Machine, s *v1.MachineStatus, c *claim) metav1.Condition {
	types := []string{v1.ConditionReachable, v1.ConditionSuitable, v1.ConditionClean}
	if c != nil {
		types = types[:1]
	}
	for _, kind := range types {
		x := meta.FindStatusCondition(s.Conditions, kind)
		if x == nil {
			return conditions.Unknown(v1.ConditionReady)
		}
		if x.Status != metav1.ConditionTrue {
			out := *x
			out.Type = v1.ConditionReady
			return out
		}
	}
	switch {
	case c != nil:
		return conditions.Holding(v1.ConditionReady, v1.ReasonBound, r.printer.T("pool.has", "cluster", c.cluster))
	case m.Spec.Maintenance:
		return conditions.Failing(r.printer, v1.ConditionReady,
			event.NewFault(event.ClassPreflight, "pool.maintenance", nil))
	}
	return conditions.Holding(v1.ConditionReady, v1.ReasonSucceeded, r.printer.T("pool.free"))
}

// write applies a status, if it differs from the one that was read.
func (r *Machines) write(ctx context.Context, m *v1.Machine, s *v1.MachineStatus) error {
	if equality.Semantic.DeepEqual(m.Status, *s) {
		return nil
	}
	at := client.ObjectKeyFromObject(m)
	if err := conditions.Apply(ctx, r.Client, "Machine", at, m.ResourceVersion, Owner, s); err != nil {
		return err
	}
	was := meta.FindStatusCondition(m.Status.Conditions, v1.ConditionReady)
	now := meta.FindStatusCondition(s.Conditions, v1.ConditionReady)
	if was != nil && was.Status == now.Status && was.Reason == now.Reason {
		return nil
	}
	kind := corev1.EventTypeNormal
	if now.Status == metav1.ConditionFalse && now.Reason != v1.ReasonMaintenance {
		kind = corev1.EventTypeWarning
	}
	r.Events.Event(m, kind, now.Reason, event.Clip(now.Message, 1000))
	return nil
}
