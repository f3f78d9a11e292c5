package phases

import "github.com/eggo-k8s/eggo/internal/phases/clients"

// Quiet keeps the Kubernetes libraries from writing to stderr.
func Quiet() { clients.Quiet() }
