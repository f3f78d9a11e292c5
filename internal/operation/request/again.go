package request

import "github.com/eggo-k8s/eggo/internal/run/event"

// Continue takes over the options of a run that is continued, where the request does not say otherwise. What a board
// decided about failures is not taken over: a board may not be there. Nor is it that a failure takes everything back:
// the nodes have something of the run before, which is no more what this run did.
func (c Common) Continue(o *event.RunOptions) Common {
	if o == nil {
		return c
	}
	if len(c.Limit) == 0 {
		c.Limit = o.Limit
	}
	if c.Trust.Signers == "" {
		c.Trust.Signers = o.Signers
	}
	if c.OnFailure == (OnFailure{}) && o.OnFailure != "ask" {
		if was, err := ParseOnFailure(o.OnFailure); err == nil && !was.Undo { // else of a later version
			c.OnFailure = was
		}
	}
	if len(c.Hooks.Before)+len(c.Hooks.After) == 0 {
		c.Hooks = Hooks{Before: o.Before, After: o.After}
	}
	return c
}
