package state

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
)

// timing of a Lease.
type timing struct {
	duration time.Duration // others take a Lease that was not renewed for so long
	renew    time.Duration // pause between renewals
	again    time.Duration // pause after a renewal that failed
	limit    time.Duration // the holder gives up when its last renewal began so long ago; less than duration
	poll     time.Duration // pause between two looks at a Lease of another process
}

func usual() timing {
	return timing{duration: 15 * time.Second, renew: 5 * time.Second, again: time.Second, limit: 10 * time.Second,
		poll: 2 * time.Second}
}

// lease is a Lease that this process holds.
type lease struct {
	store    *Store
	identity string
	lost     chan struct{} // closed when another process may have it
	stop     context.CancelFunc
	over     chan struct{} // closed when nothing renews it any more

	mu sync.Mutex
	is *coordinationv1.Lease // as it was written last
}

// free returns a Lease that nothing holds.
func free(namespace, cluster string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: v1.LeaseName(cluster),
		Labels: map[string]string{v1.LabelCluster: cluster}}}
}

// take takes the Lease of a cluster. While another process holds it, it is waited for up to Options.Wait; then the
// fault is lock.cluster-held.
func (s *Store) take(ctx context.Context, cluster string, me journal.Holder) (*lease, error) {
	l := &lease{store: s, identity: me.Program + "/" + me.Host + "/" + rand.Text(), lost: make(chan struct{}),
		over: make(chan struct{})}
	began, told, seen := s.o.Clock.Now(), false, sight{}
	for {
		at := s.o.Clock.Now()
		is, err := s.lookAt(ctx, cluster)
		if err == nil && seen.free(is, at, s.timing.duration) {
			if err = s.write(ctx, is, l.identity, me); err == nil {
				l.keep(ctx, is, at)
				return l, nil
			}
			if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
				continue // another process was faster
			}
		}
		if err != nil && (final(err) || ctx.Err() != nil || at.Sub(began) >= s.o.Wait) {
			return nil, event.NewFault(event.ClassFailed, "lock.lease-failed", err, "lease", v1.LeaseName(cluster))
		}
		if err == nil {
			holder := holderOf(is)
			if at.Sub(began) >= s.o.Wait {
				return nil, holder.Held()
			}
			if s.o.Waits != nil && !told {
				s.o.Waits(holder)
				told = true
			}
		}
		if err := s.o.Clock.Sleep(ctx, s.timing.poll); err != nil {
			return nil, event.NewFault(event.ClassInterrupted, "run.interrupted", nil)
		}
	}
}

// sight is a Lease of another process as it was seen first. Whether it is renewed is measured with our own clock:
// clocks of machines differ.
type sight struct {
	version string
	at      time.Time
}

// free reports whether the Lease has no holder, or one that has not renewed it since we saw it first.
func (s *sight) free(is *coordinationv1.Lease, now time.Time, least time.Duration) bool {
	if is.Spec.HolderIdentity == nil || *is.Spec.HolderIdentity == "" {
		return true
	}
	if s.version != is.ResourceVersion || s.at.IsZero() {
		s.version, s.at = is.ResourceVersion, now
	}
	if d := is.Spec.LeaseDurationSeconds; d != nil {
		least = max(least, time.Duration(min(*d, 3600))*time.Second)
	}
	return now.Sub(s.at) >= least
}

// lookAt reads the Lease of a cluster. If there is none, it returns one without a resource version.
func (s *Store) lookAt(ctx context.Context, cluster string) (*coordinationv1.Lease, error) {
	is := free(s.o.Namespace, cluster)
	err := s.o.Client.Get(ctx, client.ObjectKeyFromObject(is), is)
	if apierrors.IsNotFound(err) {
		return free(s.o.Namespace, cluster), nil
	}
	return is, err
}

// write makes this process the holder of a Lease as it was read.
func (s *Store) write(ctx context.Context, is *coordinationv1.Lease, identity string, me journal.Holder) error {
	text, err := json.Marshal(me)
	if err != nil {
		return err
	}
	now := metav1.NewMicroTime(s.o.Clock.Now())
	seconds := int32(s.timing.duration / time.Second)
	changes := int32(0)
	if n := is.Spec.LeaseTransitions; n != nil {
		changes = *n + 1
	}
	is.Spec = coordinationv1.LeaseSpec{HolderIdentity: &identity, LeaseDurationSeconds: &seconds, AcquireTime: &now,
		RenewTime: &now, LeaseTransitions: &changes}
	if is.Annotations == nil {
		is.Annotations = map[string]string{}
	}
	is.Annotations[holderAnnotation] = string(text)
	if is.ResourceVersion == "" {
		return s.o.Client.Create(ctx, is)
	}
	return s.o.Client.Update(ctx, is)
}

// holderOf returns what the holder wrote of itself.
func holderOf(is *coordinationv1.Lease) journal.Holder {
	var h journal.Holder
	_ = json.Unmarshal([]byte(is.Annotations[holderAnnotation]), &h) // what is missing is shown as unknown
	h.Program, h.User, h.Host, h.Verb = event.Clean(h.Program), event.Clean(h.User), event.Clean(h.Host),
		event.Clean(h.Verb)
	return h
}

// free returns nil if nothing holds the lock of a cluster, otherwise lock.cluster-held. A holder that has not renewed
// it for the duration of the Lease, by our clock, does not count.
func (s *Store) free(ctx context.Context, cluster string) error {
	is, err := s.lookAt(ctx, cluster)
	if err != nil {
		return event.NewFault(event.ClassFailed, "lock.lease-failed", err, "lease", v1.LeaseName(cluster))
	}
	if is.Spec.HolderIdentity == nil || *is.Spec.HolderIdentity == "" || is.Spec.RenewTime == nil ||
		s.o.Clock.Now().Sub(is.Spec.RenewTime.Time) >= s.timing.duration {
		return nil
	}
	return holderOf(is).Held()
}

// keep renews the Lease until it is released or lost. at is when the request that took it was made.
func (l *lease) keep(ctx context.Context, is *coordinationv1.Lease, at time.Time) {
	l.is = is
	ctx, l.stop = context.WithCancel(context.WithoutCancel(ctx)) // the lock is held until the end of an aborted run
	go func() {
		defer close(l.over)
		if l.renew(ctx, at) {
			close(l.lost)
		}
	}()
}

// renew renews the Lease, and reports whether it was lost: otherwise ctx has ended.
func (l *lease) renew(ctx context.Context, last time.Time) (lost bool) {
	clock, t := l.store.o.Clock, l.store.timing
	for pause := t.renew; ; {
		left := t.limit - clock.Now().Sub(last)
		if clock.Sleep(ctx, min(pause, max(left, 0))) != nil {
			return false
		}
		began := clock.Now()
		if left = t.limit - began.Sub(last); left <= 0 {
			return true
		}
		try, cancel := context.WithTimeout(ctx, left)
		err := l.once(try)
		cancel()
		switch {
		case ctx.Err() != nil:
			return false
		case errors.Is(err, errTaken):
			return true
		case err != nil:
			pause = t.again
		default:
			last, pause = began, t.renew
		}
	}
}

var errTaken = errors.New("another process holds the lease")

// once renews the Lease once.
func (l *lease) once(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := l.is.DeepCopy()
	err := l.update(ctx, next)
	if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return err
	}
	is := &coordinationv1.Lease{}
	if err := l.store.o.Client.Get(ctx, client.ObjectKeyFromObject(next), is); err != nil {
		if apierrors.IsNotFound(err) {
			return errTaken // without it any process may take it
		}
		return err
	}
	if is.Spec.HolderIdentity == nil || *is.Spec.HolderIdentity != l.identity {
		return errTaken
	}
	return l.update(ctx, is)
}

func (l *lease) update(ctx context.Context, next *coordinationv1.Lease) error {
	now := metav1.NewMicroTime(l.store.o.Clock.Now())
	next.Spec.RenewTime = &now
	err := l.store.o.Client.Update(ctx, next)
	if err == nil {
		l.is = next
	}
	return err
}

func (l *lease) isLost() bool {
	select {
	case <-l.lost:
		return true
	default:
		return false
	}
}

// release ends the renewals, and frees the Lease unless it was lost.
func (l *lease) release() error {
	l.stop()
	<-l.over
	if l.isLost() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), l.store.timing.limit)
	defer cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	next := l.is.DeepCopy()
	none := ""
	next.Spec.HolderIdentity = &none
	delete(next.Annotations, holderAnnotation)
	if err := l.store.o.Client.Update(ctx, next); client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
		return event.NewFault(event.ClassFailed, "lock.lease-failed", err, "lease", next.Name)
	}
	return nil
}
