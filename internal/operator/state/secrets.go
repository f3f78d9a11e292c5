package state

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Limit is how many bytes a Secret may hold; etcd refuses objects of more than 1.5 MB, the API server Secrets of more
// than 1 MiB.
const Limit = 900 << 10

const (
	formatAnnotation = v1.Group + "/state-format"
	holderAnnotation = v1.Group + "/holder"
	format           = 1
)

func (p part) secret(cluster string) string { return v1.StateSecret(cluster, p.name) }

// kept is a part as its Secret has it.
type kept struct {
	secret *corev1.Secret // nil: there is none
	digest [sha256.Size]byte
}

// fill makes the cluster's directory what the Secrets are. Without a holder, parts whose Secret has not changed since
// the last time stay as they are. With one, all parts are read again, and each Secret is marked with the holder: writes
// of a process that had the lock before are refused from then on. The caller holds mu.
func (c *cluster) fill(ctx context.Context, holder string) error {
	for _, p := range parts() {
		was, known := c.have[p.name]
		now, files, err := c.read(ctx, p)
		if err != nil {
			return err
		}
		if holder != "" {
			if now.secret, err = c.mark(ctx, p, now.secret, holder); err != nil {
				return err
			}
		}
		c.have[p.name] = now
		if holder == "" && known && version(was.secret) == version(now.secret) {
			continue
		}
		if err := p.write(c.dir, files); err != nil {
			return event.NewFault(event.ClassFailed, "state.write", err)
		}
	}
	return nil
}

// version returns the resource version; "" for nil.
func version(s *corev1.Secret) string {
	if s == nil {
		return ""
	}
	return s.ResourceVersion
}

// read reads the Secret of a part.
func (c *cluster) read(ctx context.Context, p part) (kept, map[string][]byte, error) {
	name := p.secret(c.name)
	s := &corev1.Secret{}
	err := c.store.retry(ctx, func(ctx context.Context) error {
		return c.store.o.Client.Get(ctx, client.ObjectKey{Namespace: c.store.o.Namespace, Name: name}, s)
	})
	if apierrors.IsNotFound(err) {
		files := map[string][]byte{}
		return kept{digest: digestOf(files)}, files, nil
	}
	if err != nil {
		return kept{}, nil, event.NewFault(event.ClassFailed, "state.secret-read", err, "secret", name)
	}
	if err := ofCluster(s, c.name); err != nil {
		return kept{}, nil, event.NewFault(event.ClassPreflight, "state.damaged", err, "secret", name)
	}
	if f := s.Annotations[formatAnnotation]; f != "" && f != strconv.Itoa(format) {
		return kept{}, nil, event.NewFault(event.ClassUsage, "state.newer-format", nil, "path", name, "format",
			event.Clean(f), "ours", strconv.Itoa(format))
	}
	files, err := p.unpack(s.Data)
	if err != nil {
		return kept{}, nil, event.NewFault(event.ClassPreflight, "state.damaged", err, "secret", name)
	}
	return kept{secret: s, digest: digestOf(files)}, files, nil
}

// ofCluster refuses a Secret that has the name, and was not made by this package for the cluster.
func ofCluster(s *corev1.Secret, cluster string) error {
	switch {
	case s.Type != v1.SecretTypeState:
		return fmt.Errorf("its type is %q, not %q", s.Type, v1.SecretTypeState)
	case s.Labels[v1.LabelCluster] != cluster:
		return fmt.Errorf("its label %s is %q, not %q", v1.LabelCluster, s.Labels[v1.LabelCluster], cluster)
	}
	return nil
}

// mark writes the holder of the lock on the Secret of a part, which it makes if there is none.
func (c *cluster) mark(ctx context.Context, p part, s *corev1.Secret, holder string) (*corev1.Secret, error) {
	if s == nil {
		s = empty(c.store.o.Namespace, c.name, p)
	}
	return c.put(ctx, s, func(s *corev1.Secret) { s.Annotations[holderAnnotation] = holder })
}

// empty returns the Secret of a part that has nothing yet.
func empty(namespace, cluster string, p part) *corev1.Secret {
	return &corev1.Secret{Type: v1.SecretTypeState, ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: p.secret(cluster), Labels: map[string]string{v1.LabelCluster: cluster},
		Annotations: map[string]string{formatAnnotation: strconv.Itoa(format)}, Finalizers: []string{v1.FinalizerState},
	}}
}

// persist writes the part to its Secret if the directory has changed since.
func (c *cluster) persist(ctx context.Context, p part) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lease != nil && c.lease.isLost() {
		return event.NewFault(event.ClassInterrupted, "lock.lost", nil, "cluster", c.name)
	}
	files, err := p.read(c.dir)
	if err != nil {
		return event.NewFault(event.ClassFailed, "state.read", err)
	}
	now, was := digestOf(files), c.have[p.name]
	if now == was.digest {
		return nil
	}
	data, err := p.pack(files)
	if err != nil {
		return event.NewFault(event.ClassFailed, "state.read", err)
	}
	s := was.secret
	if s == nil {
		s = empty(c.store.o.Namespace, c.name, p)
	}
	next := s.DeepCopy()
	p.set(next, data)
	if n := size(next.Data); n > Limit {
		return tooLarge(next.Name, n)
	}
	written, err := c.put(ctx, s, func(s *corev1.Secret) { p.set(s, data) })
	if err != nil {
		return err
	}
	c.have[p.name] = kept{written, now}
	return nil
}

// set makes the part's keys of a Secret those of data.
func (p part) set(s *corev1.Secret, data map[string][]byte) {
	if s.Data == nil {
		s.Data = map[string][]byte{}
	}
	for _, key := range p.keys() {
		delete(s.Data, key)
	}
	maps.Copy(s.Data, data)
}

func size(data map[string][]byte) (n int) {
	for key, value := range data {
		n += len(key) + len(value)
	}
	return n
}

func tooLarge(secret string, n int) *event.Fault {
	kb := func(n int) string { return strconv.Itoa((n + 1023) >> 10) }
	return event.NewFault(event.ClassPreflight, "state.too-large", nil, "secret", secret, "size", kb(n), "limit",
		kb(Limit))
}

// put changes a Secret as it was read, and returns it as it is then. If others have changed what is not data, the
// change is made to theirs; if they have changed the data, the fault is state.conflict and nothing is written.
func (c *cluster) put(ctx context.Context, was *corev1.Secret, change func(*corev1.Secret)) (*corev1.Secret, error) {
	next := was.DeepCopy()
	for tries := 0; ; tries++ {
		if next.Annotations == nil {
			next.Annotations = map[string]string{}
		}
		change(next)
		next.Annotations[formatAnnotation] = strconv.Itoa(format)
		if next.DeletionTimestamp == nil { // nothing may add a finalizer to one that is being deleted
			controllerutil.AddFinalizer(next, v1.FinalizerState)
		}
		want := next.DeepCopy()
		err := c.store.retry(ctx, func(ctx context.Context) error {
			if next.ResourceVersion == "" {
				return c.store.o.Client.Create(ctx, next)
			}
			return c.store.o.Client.Update(ctx, next)
		})
		if err == nil {
			return next, nil
		}
		moved := apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)
		if !moved || tries == 3 {
			code := "state.secret-write"
			if moved || apierrors.IsNotFound(err) {
				code = "state.conflict"
			}
			return nil, event.NewFault(event.ClassFailed, code, err, "secret", was.Name)
		}
		is := &corev1.Secret{}
		if err := c.store.retry(ctx, func(ctx context.Context) error {
			return c.store.o.Client.Get(ctx, client.ObjectKeyFromObject(was), is)
		}); err != nil {
			return nil, event.NewFault(event.ClassFailed, "state.secret-read", err, "secret", was.Name)
		}
		held := is.Annotations[holderAnnotation]
		switch {
		case same(is.Data, want.Data) && held == want.Annotations[holderAnnotation]:
			return is, nil // the answer to our own write was lost
		case !same(is.Data, was.Data) || held != was.Annotations[holderAnnotation]:
			return nil, event.NewFault(event.ClassFailed, "state.conflict", err, "secret", was.Name)
		}
		next = is
	}
}

func same(a, b map[string][]byte) bool {
	return maps.EqualFunc(a, b, func(x, y []byte) bool { return slices.Equal(x, y) })
}

// retry calls do until it succeeds, fails for good or ctx ends: an API server may be away for a moment.
func (s *Store) retry(ctx context.Context, do func(context.Context) error) error {
	for try := 1; ; try++ {
		err := do(ctx)
		if err == nil || final(err) || try == 10 {
			return err
		}
		if s.o.Clock.Sleep(ctx, 2*time.Second) != nil {
			return err
		}
	}
}

// final reports whether another try of a request would fail in the same way.
func final(err error) bool {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		return errors.Is(err, context.Canceled)
	}
	return !apierrors.IsServerTimeout(err) && !apierrors.IsTimeout(err) && !apierrors.IsTooManyRequests(err) &&
		!apierrors.IsInternalError(err) && !apierrors.IsServiceUnavailable(err)
}

// Ensure makes the Secrets and the Lease of a cluster that are missing, for a process that may not create any.
func Ensure(ctx context.Context, c Client, namespace, cluster string) error {
	for _, p := range parts() {
		if err := c.Create(ctx, empty(namespace, cluster, p)); err != nil && !apierrors.IsAlreadyExists(err) {
			return event.NewFault(event.ClassFailed, "state.secret-write", err, "secret", p.secret(cluster))
		}
	}
	if err := c.Create(ctx, free(namespace, cluster)); err != nil && !apierrors.IsAlreadyExists(err) {
		return event.NewFault(event.ClassFailed, "lock.lease-failed", err, "lease", v1.LeaseName(cluster))
	}
	return nil
}

// releases has the policy of assets/eggops/policies.yaml allow the deletion of a Secret, whoever runs the operator. It
// reports whether the Secret has changed.
func releases(s *corev1.Secret) bool {
	held := controllerutil.RemoveFinalizer(s, v1.FinalizerState)
	if s.Annotations[v1.AnnotationConfirmDeletion] == s.Name {
		return held
	}
	if s.Annotations == nil {
		s.Annotations = map[string]string{}
	}
	s.Annotations[v1.AnnotationConfirmDeletion] = s.Name
	return true
}

// Remove removes the Secrets and the Lease of a cluster. Its machines must not need them any more.
func Remove(ctx context.Context, c Client, namespace, cluster string) error {
	for _, p := range parts() {
		s := &corev1.Secret{}
		key := client.ObjectKey{Namespace: namespace, Name: p.secret(cluster)}
		err := c.Get(ctx, key, s)
		if err == nil {
			err = ofCluster(s, cluster)
		}
		if err == nil && releases(s) {
			err = c.Update(ctx, s)
		}
		if err == nil {
			err = c.Delete(ctx, s, client.Preconditions{UID: &s.UID})
		}
		if client.IgnoreNotFound(err) != nil {
			return event.NewFault(event.ClassFailed, "state.secret-write", err, "secret", key.Name)
		}
	}
	if err := c.Delete(ctx, free(namespace, cluster)); client.IgnoreNotFound(err) != nil {
		return event.NewFault(event.ClassFailed, "lock.lease-failed", err, "lease", v1.LeaseName(cluster))
	}
	return nil
}

// What the pki of a cluster takes at most as an archive: in all, for each machine, and for each control plane and
// member of etcd more. It is mostly keys and signatures, which cannot be compressed.
const (
	sizeOfAll     = 12 << 10
	sizeOfMachine = 360
	sizeOfControl = 2 << 10
)

// fits refuses a deploy.yaml whose certificates would not fit into a Secret: it is found before a machine is changed.
func fits(cluster string, text []byte) error {
	c, _ := config.Load(text, "deploy.yaml")
	if c == nil { // others report that
		return nil
	}
	n := sizeOfAll
	for _, m := range c.Nodes {
		n += sizeOfMachine
		if m.Has("control-plane") || m.Has("etcd") {
			n += sizeOfControl
		}
	}
	if n > Limit {
		return tooLarge(part{name: v1.StatePKI}.secret(cluster), n)
	}
	if len(text) > Limit {
		return tooLarge(part{name: v1.StateConfig}.secret(cluster), len(text))
	}
	return nil
}

var _ operation.Files = (*files)(nil)
