package pool

import (
	"path"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/operator/conditions"
	"github.com/eggo-k8s/eggo/internal/operator/gather"
)

// WantedOf returns what a Cluster requires of the pool. infra is its Infrastructure; nil if there is none (yet): the
// machines may have any architecture then.
func WantedOf(c *v1.Cluster, infra *v1.Infrastructure) Wanted {
	w := Wanted{Cluster: c.Name, Names: c.Spec.Machines}
	for _, n := range []struct {
		role v1.Role
		of   *v1.RequireMachineConfig
	}{
		{v1.RoleMaster, c.Spec.MasterRequire}, {v1.RoleEtcd, c.Spec.EtcdRequire},
		{v1.RoleLoadBalance, c.Spec.LoadbalanceRequires}, {v1.RoleWorker, c.Spec.WorkerRequire},
	} {
		if n.of != nil && n.of.Number > 0 {
			w.Needs = append(w.Needs, Need{Role: n.role, Number: int(n.of.Number), Labels: n.of.Features})
		}
	}
	if infra != nil {
		w.Archs = archs(infra, c.Spec.Version)
	}
	return w
}

// archs returns the architectures of the bundles for a version, or for all versions if it is "".
func archs(infra *v1.Infrastructure, version string) []string {
	var out []string
	for _, b := range gather.Bundles(infra, version) {
		out = append(out, b.Arch)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// candidateOf returns a Machine as the allocator sees it. taken has the clusters of machines by name and by UID.
func candidateOf(m *v1.Machine, taken map[string]string) Candidate {
	c := Candidate{Name: m.Name, UID: string(m.UID), IP: m.Spec.IP, Labels: m.Labels, Taken: taken[m.Name],
		Maintenance: m.Spec.Maintenance || !m.DeletionTimestamp.IsZero(),
		Ready: conditions.Is(m.Status.Conditions, v1.ConditionReachable, m.Generation) &&
			conditions.Is(m.Status.Conditions, v1.ConditionSuitable, m.Generation),
		Clean: conditions.Is(m.Status.Conditions, v1.ConditionClean, m.Generation)}
	if c.Taken == "" {
		c.Taken = taken[c.UID]
	}
	if ref := m.Status.ClusterRef; c.Taken == "" && ref != nil { // it has just left it
		c.Taken = ref.Name
	}
	if m.Status.Facts != nil {
		c.Arch = m.Status.Facts.Arch
	}
	_, c.Release = m.Annotations[v1.AnnotationRelease]
	return c
}

// takenBy returns the clusters of all machines in bindings, by name and by UID.
func takenBy(bindings []v1.MachineBinding) map[string]string {
	out := map[string]string{}
	for _, b := range bindings {
		for _, m := range b.Spec.Machines {
			out[m.Name], out[m.UID] = clusterOf(&b), clusterOf(&b)
		}
	}
	return out
}

// clusterOf returns the name of the cluster of a binding.
func clusterOf(b *v1.MachineBinding) string {
	if b.Spec.ClusterRef != nil {
		return b.Spec.ClusterRef.Name
	}
	return strings.TrimPrefix(path.Base(b.Name), v1.BindingName(""))
}

// bindingSpec returns the spec of the binding of a cluster with these machines, those who read only the fields of the
// original eggops included.
func bindingSpec(c *v1.Cluster, machines []v1.BoundMachine, of map[string]*v1.Machine, old v1.MachineBindingSpec,
) v1.MachineBindingSpec {
	out := v1.MachineBindingSpec{ClusterRef: &v1.ClusterReference{Name: c.Name, UID: string(c.UID)},
		Machines: machines, Usages: map[string]int32{}}
	for _, role := range []v1.Role{v1.RoleMaster, v1.RoleWorker, v1.RoleEtcd, v1.RoleLoadBalance} {
		set := v1.MachineSetOfUsage{Usage: role.Usage()}
		for _, m := range machines {
			if !slices.Contains(m.Roles, role) {
				continue
			}
			out.Usages[m.UID] |= role.Bit()
			copied, is := copyOf(of[m.Name]), of[m.Name] != nil
			if !is {
				copied, is = oldCopy(old, m.Name)
			}
			if is {
				set.Machines = append(set.Machines, copied)
			}
		}
		if len(set.Machines) > 0 {
			out.MachineSets = append(out.MachineSets, set)
		}
	}
	return out
}

func copyOf(m *v1.Machine) v1.MachineCopy {
	if m == nil {
		return v1.MachineCopy{}
	}
	return v1.MachineCopy{
		Metadata: v1.MachineCopyMeta{Name: m.Name, Namespace: m.Namespace, UID: string(m.UID)},
		Spec: v1.MachineCopySpec{HostName: m.Spec.HostName, Arch: m.Spec.Arch, IP: m.Spec.IP,
			Port: m.Spec.Port},
	}
}

// oldCopy returns the copy of a machine that a binding has.
func oldCopy(s v1.MachineBindingSpec, name string) (v1.MachineCopy, bool) {
	for _, set := range s.MachineSets {
		for _, m := range set.Machines {
			if m.Metadata.Name == name {
				return m, true
			}
		}
	}
	return v1.MachineCopy{}, false
}

// released reports whether a machine may leave the cluster that has it: it was cleaned, or it is in quarantine. What
// its status says from before the cluster had it does not count. m is nil if there is no such Machine any more.
func released(m *v1.Machine, cluster string) bool {
	if m == nil {
		return true
	}
	if ref := m.Status.ClusterRef; ref == nil || ref.Name != cluster {
		return false
	}
	for _, c := range m.Status.Conditions {
		if c.Type == v1.ConditionClean {
			return c.Status == metav1.ConditionTrue || c.Reason == v1.ReasonQuarantined
		}
	}
	return false
}
