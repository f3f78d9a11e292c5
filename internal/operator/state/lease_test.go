package state

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/eggo-k8s/eggo/api/v1"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
)

// trouble has an API server fail writes of a Lease.
type trouble struct {
	fail  atomic.Bool // they fail
	hang  atomic.Bool // they are not answered before their context ends
	lose  atomic.Bool // they are made, and the answer is lost
	count atomic.Int32
}

func (t *trouble) client() client.WithWatch {
	return fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Update: func(ctx context.Context, w client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			if _, is := o.(*coordinationv1.Lease); !is {
				return w.Update(ctx, o, opts...)
			}
			t.count.Add(1)
			switch {
			case t.fail.Load():
				return errors.New("connection refused")
			case t.hang.Load():
				<-ctx.Done()
				return ctx.Err()
			case t.lose.Load():
				return errors.Join(errors.New("connection reset"),
					w.Update(ctx, o.DeepCopyObject().(client.Object), opts...))
			}
			return w.Update(ctx, o, opts...)
		},
	}).Build()
}

// held opens the cluster "c", and takes its lock.
func held(t *testing.T, o Options, host string) (operation.Files, operation.Lock, error) {
	t.Helper()
	o.Namespace, o.Root = "ns", t.TempDir()
	f, err := New(o).Open(t.Context(), "c")
	if err != nil {
		t.Fatal(err)
	}
	me := journal.Holder{Program: "eggops", Host: host, User: "ns", Verb: "deploy", Since: time.Now(), PID: 1}
	l, err := f.Lock(t.Context(), me)
	return f, l, err
}

func isLost(l operation.Lock) bool {
	select {
	case <-l.Lost():
		return true
	default:
		return false
	}
}

func leaseOf(t *testing.T, c client.Client) *coordinationv1.Lease {
	t.Helper()
	is := free("ns", "c")
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(is), is); err != nil {
		t.Fatal(err)
	}
	return is
}

// A lock is renewed for as long as it is held. Another process is refused with the holder's name, or waits.
func TestLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ways trouble
		c := ways.client()
		f, l, err := held(t, Options{Client: c}, "pod-1")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		if n := ways.count.Load(); isLost(l) || n < 100 || n > 130 {
			t.Error("renewals:", n)
		}
		if is := leaseOf(t, c); *is.Spec.LeaseDurationSeconds != 15 || is.Labels[v1.LabelCluster] != "c" ||
			!strings.HasPrefix(*is.Spec.HolderIdentity, "eggops/pod-1/") {
			t.Errorf("%+v", is)
		}
		_, _, err = held(t, Options{Client: c}, "pod-2")
		if got := event.AsFault(err); got == nil || got.Code != "lock.cluster-held" ||
			got.Args["program"] != "eggops" || got.Args["host"] != "pod-1" ||
			got.Args["user"] != "ns" || got.Args["verb"] != "deploy" {
			t.Error(err)
		}
		if err := f.Free(t.Context()); code(err) != "lock.cluster-held" {
			t.Error(err)
		}
		go func() {
			time.Sleep(5 * time.Minute)
			if err := l.Unlock(); err != nil {
				t.Error(err)
			}
		}()
		began, waits := time.Now(), 0
		_, l2, err := held(t, Options{Client: c, Wait: 10 * time.Minute,
			Waits: func(h journal.Holder) {
				if waits++; h.Host != "pod-1" {
					t.Error(h)
				}
			}}, "pod-2")
		if d := time.Since(began); err != nil || waits != 1 || d < 5*time.Minute || d > 5*time.Minute+3*time.Second {
			t.Error(err, waits, d)
		}
		if err := l2.Unlock(); err != nil {
			t.Error(err)
		}
		if err := f.Free(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A holder that died is waited for until its Lease is over by our own clock.
func TestLock_HolderDied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ways trouble
		c := ways.client()
		_, l, err := held(t, Options{Client: c}, "pod-1")
		if err != nil {
			t.Fatal(err)
		}
		ways.fail.Store(true)
		<-l.Lost()
		_ = l.Unlock()
		ways.fail.Store(false)
		is := leaseOf(t, c) // its clock is an hour ahead
		is.Spec.RenewTime.Time = is.Spec.RenewTime.Add(time.Hour)
		if err := c.Update(t.Context(), is); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, l, err = held(t, Options{Client: c, Wait: time.Minute}, "pod-2")
		if d := time.Since(began); err != nil || d < 15*time.Second || d > 18*time.Second {
			t.Fatal(err, d)
		}
		if is := leaseOf(t, c); *is.Spec.LeaseTransitions != 1 {
			t.Errorf("%+v", is.Spec)
		}
		_ = l.Unlock()
	})
}

// Of several processes that wait for a lock, one at a time gets it.
func TestLock_OneOfTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ways trouble
		c := ways.client()
		_, l, err := held(t, Options{Client: c}, "pod-1")
		if err != nil {
			t.Fatal(err)
		}
		var inside, got atomic.Int32
		for range 5 {
			go func() {
				_, l, err := held(t, Options{Client: c, Wait: time.Hour}, "pod")
				if err != nil || inside.Add(1) != 1 {
					t.Error("several have the lock", err)
					return
				}
				time.Sleep(time.Minute)
				inside.Add(-1)
				got.Add(1)
				_ = l.Unlock()
			}()
		}
		time.Sleep(time.Minute)
		_ = l.Unlock()
		time.Sleep(10 * time.Minute)
		if n := got.Load(); n != 5 {
			t.Error(n, "of 5 got it")
		}
	})
}

// When the Lease cannot be renewed, or has another holder, the lock is lost before others may take it.
func TestLock_Lost(t *testing.T) {
	for name, tc := range map[string]struct {
		begin func(*testing.T, *trouble, client.Client)
		to    time.Duration // it is lost after so long at most
	}{
		"the API server is away": {begin: func(_ *testing.T, w *trouble, _ client.Client) { w.fail.Store(true) },
			to: 10 * time.Second},
		"it does not answer": {begin: func(_ *testing.T, w *trouble, _ client.Client) { w.hang.Store(true) },
			to: 10 * time.Second},
		"another process took it": {begin: steal, to: 5 * time.Second},
		"it was removed": {begin: func(t *testing.T, _ *trouble, c client.Client) {
			if err := c.Delete(t.Context(), free("ns", "c")); err != nil {
				t.Error(err)
			}
		}, to: 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var ways trouble
				c := ways.client()
				f, l, err := held(t, Options{Client: c}, "pod-1")
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute) // just renewed
				synctest.Wait()
				tc.begin(t, &ways, c)
				began := time.Now()
				<-l.Lost()
				if d := time.Since(began); d > tc.to {
					t.Error("lost after", d)
				}
				put(t, f, "known_hosts", "x")
				if err := f.Persist(t.Context(), input.KeptKnownHosts); code(err) != "lock.lost" {
					t.Error(err)
				}
				ways.hang.Store(false)
				ways.fail.Store(false)
				n := ways.count.Load()
				if err := l.Unlock(); err != nil {
					t.Error(err)
				}
				if ways.count.Load() != n {
					t.Error("the Lease of another process was written")
				}
			})
		})
	}
}

func steal(t *testing.T, _ *trouble, c client.Client) {
	is := leaseOf(t, c)
	other := "other"
	is.Spec.HolderIdentity = &other
	if err := c.Update(t.Context(), is); err != nil {
		t.Error(err)
	}
}

// A moment without an API server, and lost answers, cost nothing.
func TestLock_Trouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ways trouble
		_, l, err := held(t, Options{Client: ways.client()}, "pod-1")
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			ways.fail.Store(true)
			time.Sleep(2 * time.Second)
			ways.fail.Store(false)
			ways.lose.Store(true)
			time.Sleep(2 * time.Second)
			ways.lose.Store(false)
			time.Sleep(7 * time.Second)
			if isLost(l) {
				t.Fatal("lost")
			}
		}
		if err := l.Unlock(); err != nil {
			t.Error(err)
		}
	})
}

// A process without the right to Leases is refused at once; an API server that is away is waited for.
func TestLock_Failed(t *testing.T) {
	away := atomic.Int32{}
	client := func(err error) client.WithWatch {
		return fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, w client.WithWatch, k client.ObjectKey, o client.Object,
				opts ...client.GetOption,
			) error {
				if _, is := o.(*coordinationv1.Lease); is && away.Add(-1) >= 0 {
					return err
				}
				return w.Get(ctx, k, o, opts...)
			},
		}).Build()
	}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "c", errors.New("no"))
	synctest.Test(t, func(t *testing.T) {
		away.Store(1)
		began := time.Now()
		_, _, err := held(t, Options{Client: client(forbidden), Wait: time.Minute}, "pod")
		if code(err) != "lock.lease-failed" || time.Since(began) > 0 {
			t.Error(err, time.Since(began))
		}
		away.Store(10)
		_, l, err := held(t, Options{Client: client(errors.New("refused")), Wait: time.Minute}, "pod")
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Unlock()
		away.Store(1000)
		_, _, err = held(t, Options{Client: client(errors.New("refused")), Wait: time.Minute}, "pod")
		if code(err) != "lock.lease-failed" {
			t.Error(err)
		}
	})
}
