package state

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/pki"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Expiry returns when the first certificate of a cluster expires that a renewal makes last longer; the zero time if it
// has none. The faults are state.secret-read and state.damaged.
func Expiry(ctx context.Context, c client.Reader, namespace, cluster string) (time.Time, error) {
	p, _ := partOf(input.KeptPKI)
	s, at := &corev1.Secret{}, client.ObjectKey{Namespace: namespace, Name: p.secret(cluster)}
	switch err := c.Get(ctx, at, s); {
	case apierrors.IsNotFound(err):
		return time.Time{}, nil
	case err != nil:
		return time.Time{}, event.NewFault(event.ClassFailed, "state.secret-read", err, "secret", at.Name)
	}
	damaged := func(err error) error {
		return event.NewFault(event.ClassPreflight, "state.damaged", err, "secret", at.Name)
	}
	files, err := p.unpack(s.Data)
	if err != nil {
		return time.Time{}, damaged(err)
	}
	var all []pki.Certificate
	for name, text := range files {
		if !strings.HasSuffix(name, ".crt") {
			continue
		}
		is, err := pki.Describe(text)
		if err != nil {
			return time.Time{}, damaged(err)
		}
		all = append(all, is)
	}
	leaves := pki.Renewable(all)
	if len(leaves) == 0 {
		return time.Time{}, nil
	}
	first := slices.MinFunc(leaves, func(a, b pki.Certificate) int { return a.NotAfter.Compare(b.NotAfter) })
	return first.NotAfter, nil
}
