package upgrade

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/clients"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/node/wait"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// acting waits until a controller manager and a scheduler act: one that was restarted waits for its lease, some 15 s.
// Meanwhile Services keep the endpoints of pods that are gone, and no pod gets a node. One that deploy.yaml has act
// without a lease may have left an old one.
func (k *Kubelets) acting(ctx context.Context) error {
	if k.Dry {
		return nil
	}
	for _, c := range []driver.Component{driver.ControllerManager, driver.Scheduler} {
		alone := func(e config.ExtraArgs) bool {
			const flag = "leader-elect"
			return e.Component == string(c) && (e.Args[flag] == "false" || e.Args["--"+flag] == "false")
		}
		if slices.ContainsFunc(k.Cluster.ExtraArgs, alone) {
			continue
		}
		if err := k.acts(ctx, string(c)); err != nil {
			return err
		}
	}
	return nil
}

// acts waits until somebody renews a lease, which its holder does every two seconds. What the lease says does not tell:
// that of a process that was stopped looks renewed for a while.
func (k *Kubelets) acts(ctx context.Context, lease string) error {
	begun, told := "", false
	var still *event.Fault // the last try may say that the time is over instead
	err := wait.Until(ctx, k.Acting, func(ctx context.Context) error {
		is, err := k.API().CoordinationV1().Leases(metav1.NamespaceSystem).Get(ctx, lease, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil // its flags say that it needs none
		}
		if err != nil {
			return clients.Fault(err)
		}
		now := is.Spec.RenewTime.String()
		if !told {
			begun, told = now, true
		}
		if now == begun {
			still = event.NewFault(event.ClassFailed, "upgrade.not-acting", nil, "component", lease, "limit",
				k.Acting.String())
			return still
		}
		return nil
	})
	if err != nil && still != nil && ctx.Err() == nil {
		return still
	}
	return err
}
