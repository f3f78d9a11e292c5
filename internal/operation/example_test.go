package operation_test

import (
	"context"
	"fmt"
	"os"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// A deploy of a simulated node: a request, the Deps, and a handle that has the event log and the end.
func ExampleStart() {
	dir, _ := os.MkdirTemp("", "eggo-")
	defer os.RemoveAll(dir)
	lab, deps := operation.Simulated(dir)
	defer lab.Close()

	ctx := context.Background()
	source := request.Source{File: "/deploy.yaml", Text: lab.DeployYAML()}
	run, err := operation.Start(ctx, request.Deploy{Common: request.Common{Source: source}}, deps)
	if err != nil {
		panic(err)
	}
	for rec := range run.Events(ctx, 1) {
		if e, is := rec.Event.(event.RunStarted); is {
			fmt.Println(e.Verb, e.Cluster)
		}
	}
	result, err := run.Wait(ctx)
	fmt.Println(result.Outcome, err)
	// Output:
	// deploy sim
	// changed <nil>
}
