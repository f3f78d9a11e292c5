// Package gather reads the objects that describe a Cluster: its machines, its logins, its bundles. It changes nothing.
package gather

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	eggov1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/operator/pod"
	"github.com/eggo-k8s/eggo/internal/operator/render"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Getter reads one object.
type Getter interface {
	Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error
}

// Gather returns what describes a Cluster with the bundles of a version of Kubernetes ("": of any), and what the pod of
// a run needs of it. secrets reads Secrets, which are not cached. What is missing is a fault of class usage:
// operator.missing, operator.login-type, operator.login-key, operator.reference.
func Gather(ctx context.Context, objects, secrets Getter, cluster *eggov1.Cluster, version string) (render.Input,
	pod.Input, error) {
	g := &gatherer{objects: objects, secrets: secrets, cluster: cluster,
		out: render.Input{Cluster: cluster}, logins: map[string]render.Login{}}
	for _, read := range []func(context.Context) error{g.login, g.machines} {
		if err := read(ctx); err != nil {
			return g.out, g.in, err
		}
	}
	return g.out, g.in, g.bundles(ctx, version)
}

type gatherer struct {
	objects, secrets Getter
	cluster          *eggov1.Cluster
	out              render.Input
	in               pod.Input
	logins           map[string]render.Login
}

// get reads an object of the namespace of the Cluster. One that does not exist is the fault operator.missing.
func (g *gatherer) get(ctx context.Context, from Getter, kind, name string, into client.Object) error {
	err := from.Get(ctx, client.ObjectKey{Namespace: g.cluster.Namespace, Name: name}, into)
	if apierrors.IsNotFound(err) {
		return event.NewFault(event.ClassUsage, "operator.missing", nil, "kind", kind, "name", name, "namespace",
			g.cluster.Namespace)
	}
	return err
}

// local refuses a reference to another namespace.
func (g *gatherer) local(field string, r *corev1.ObjectReference) error {
	if r.Namespace != "" && r.Namespace != g.cluster.Namespace {
		return event.NewFault(event.ClassUsage, "operator.reference", nil, "field", field, "namespace", r.Namespace,
			"own", g.cluster.Namespace)
	}
	return nil
}

// login reads the login of the Cluster.
func (g *gatherer) login(ctx context.Context) error {
	r := g.cluster.Spec.MachineLoginSecret
	if r == nil || r.Name == "" {
		return nil
	}
	if err := g.local("spec.machineLoginSecret", r); err != nil {
		return err
	}
	var err error
	g.out.Login, err = g.loginOf(ctx, r.Name)
	return err
}

// loginOf reads a Secret with a login, once.
func (g *gatherer) loginOf(ctx context.Context, name string) (render.Login, error) {
	if l, known := g.logins[name]; known {
		return l, nil
	}
	s := &corev1.Secret{}
	if err := g.get(ctx, g.secrets, "Secret", name, s); err != nil {
		return render.Login{}, err
	}
	l, err := render.LoginOf(s)
	if err != nil {
		return l, err
	}
	g.logins[name] = l
	g.in.Logins = append(g.in.Logins, name)
	return l, nil
}

// machines reads the MachineBinding of the Cluster, and its Machines with their logins.
func (g *gatherer) machines(ctx context.Context) error {
	b := &eggov1.MachineBinding{}
	if err := g.get(ctx, g.objects, "MachineBinding", eggov1.BindingName(g.cluster.Name), b); err != nil {
		return err
	}
	for _, bound := range b.Spec.Machines {
		m := render.Machine{Object: &eggov1.Machine{}, Roles: bound.Roles}
		if err := g.get(ctx, g.objects, "Machine", bound.Name, m.Object); err != nil {
			return err
		}
		var err error
		if r := m.Object.Spec.LoginSecretRef; r != nil {
			if m.Login, err = g.loginOf(ctx, r.Name); err != nil {
				return err
			}
		}
		for _, hop := range m.Object.Spec.Bastions {
			l := render.Login{}
			if hop.LoginSecretRef != nil {
				if l, err = g.loginOf(ctx, hop.LoginSecretRef.Name); err != nil {
					return err
				}
			}
			m.Bastions = append(m.Bastions, l)
		}
		if !bound.Leaving {
			g.out.Machines = append(g.out.Machines, m)
		}
	}
	return nil
}

// bundles reads the Infrastructure of the Cluster and chooses the bundles of a version.
func (g *gatherer) bundles(ctx context.Context, version string) error {
	r := g.cluster.Spec.Infrastructure
	if r == nil || r.Name == "" {
		return nil
	}
	if err := g.local("spec.infrastructure", r); err != nil {
		return err
	}
	i := &eggov1.Infrastructure{}
	if err := g.get(ctx, g.objects, "Infrastructure", r.Name, i); err != nil {
		return err
	}
	g.out.Infrastructure = i
	if s := i.Spec.SignersRef; s != nil {
		g.in.Signers = s.Name
	}
	for _, b := range Bundles(i, version) {
		source := pod.SourceOf(b)
		for _, is := range i.Status.Bundles {
			if is.Version == b.Version && is.Arch == b.Arch && is.OS == b.OS {
				source.Size = is.Size
			}
		}
		g.in.Bundles = append(g.in.Bundles, source)
		g.out.Bundles = append(g.out.Bundles, render.Bundle{Arch: b.Arch, Path: source.Path})
	}
	return nil
}

// Bundles returns the bundles of a version ("": of any) in an Infrastructure. Upstream's one claim with paths by
// architecture counts for each version that it was found to have; before it was read, its version is "".
func Bundles(i *eggov1.Infrastructure, version string) (out []eggov1.BundleSource) {
	add := func(b eggov1.BundleSource) {
		if version == "" || b.Version == "" || b.Version == version {
			out = append(out, b)
		}
	}
	for _, b := range i.Spec.Bundles {
		add(b)
	}
	claim, src := i.Spec.PackagePersistentVolumeClaim, i.Spec.InstallConfig.PackageSrc
	if claim == nil || src == nil {
		return out
	}
	for _, name := range slices.Sorted(maps.Keys(src.SrcPackages)) {
		b := eggov1.BundleSource{Arch: render.Arch(name), Claim: &eggov1.ClaimFile{Name: claim.Name,
			Path: src.SrcPackages[name]}}
		for _, is := range i.Status.Bundles {
			if is.Source == b.Claim.Name+"/"+b.Claim.Path {
				b.Version = is.Version
			}
		}
		add(b)
	}
	return out
}
