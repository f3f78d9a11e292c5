package request

import "github.com/eggo-k8s/eggo/internal/event"

// Continue takes over the options of a run that is continued, where the request does not say otherwise. What a board
// decided about failures is not taken over: a board may not be there.
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
		if was, err := ParseOnFailure(o.OnFailure); err == nil { // else of a later version
			c.OnFailure = was
		}
	}
	if len(c.Hooks.Before)+len(c.Hooks.After) == 0 {
		c.Hooks = Hooks{Before: o.Before, After: o.After}
	}
	return c
}
