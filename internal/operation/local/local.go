// Package local gives the Deps of operations on this host: the state directory, SSH, and bundles beside it.
package local

import (
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/dial"
	"github.com/eggo-k8s/eggo/internal/operation/staging"
	"github.com/eggo-k8s/eggo/internal/operation/store"
)

// Options of Deps.
type Options struct {
	Root string // the state directory, absolute
	SSH  dial.Options
}

// Deps are those of this host. The runs of one process should share them: connections are counted over all.
func Deps(o Options) operation.Deps {
	return operation.Deps{
		Store: store.Dir{Root: o.Root}, Dialer: dial.New(o.SSH), Bundles: staging.New(o.Root), ControlHost: true,
	}
}
