package phases

import (
	"github.com/eggo-k8s/eggo/internal/engine"
)

// Rehearsal makes a plan that looks at everything and changes nothing: preflight runs as it is, then every step is
// asked whether its work is done, and the changes of one that says no are announced and not made. What comes after a
// change that was not made cannot always be told: such a step counts as changed, with what it announced until then.
// Nothing is tried twice, proved or undone.
//
// env.StateDir is written to, so it has to be a copy that is thrown away.
func Rehearsal(env Env, planned func(Env) *engine.Plan) *engine.Plan {
	env.Dry = true
	return planned(env)
}
