package main

import (
	"context"
	"strconv"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/account"
	"github.com/eggo-k8s/eggo/internal/server/manager"
)

const (
	// auditDays is how long entries of the audit log are kept unless told otherwise.
	auditDays = 365
	// auditEvery is how often those that are older are deleted.
	auditEvery = 24 * time.Hour
)

// checkAudit refuses a number of days that there is not.
func (o serveOptions) checkAudit() error {
	if o.auditDays < 0 {
		return event.NewFault(event.ClassUsage, "server.audit-days", nil, "value", strconv.Itoa(o.auditDays))
	}
	return nil
}

// keepAudit deletes the entries of the audit log that are older than so many days, now and every day, until the
// function returned is called. 0 days: none are.
func keepAudit(
	ctx context.Context, a *account.Accounts, days int, c manager.Clock, report func(string, error),
) (end func()) {
	if days == 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		for {
			err := a.ForgetAudit(ctx, c.Now().AddDate(0, 0, -days))
			if err != nil && ctx.Err() == nil {
				report("", err)
			}
			if c.Sleep(ctx, auditEvery) != nil {
				return
			}
		}
	}()
	return func() {
		cancel()
		<-over
	}
}
