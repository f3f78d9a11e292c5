package main

import (
	"context"
	"io"
	"maps"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/present"
	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

type validateOptions struct {
	file   string
	id     string
	output string
	strict bool
}

func newValidateCmd(env *environment) *cobra.Command {
	p := env.P
	var o validateOptions
	cmd := &cobra.Command{
		Use:   "validate",
		Short: p.T("cli.validate.short"),
		Long:  p.T("cli.validate.long"),
		Args:  cli.NoArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return validate(cmd.Context(), env, o) },
	}
	cmd.Flags().StringVarP(&o.file, "file", "f", "", p.T("cli.flag.file"))
	cmd.Flags().StringVar(&o.id, "id", "", p.T("cli.flag.id"))
	cmd.MarkFlagsMutuallyExclusive("file", "id")
	env.outputFlag(cmd, &o.output)
	cmd.Flags().BoolVar(&o.strict, "strict", false, p.T("cli.validate.strict"))
	return cmd
}

// validate prints every problem of a deploy.yaml. Its error has the exit code and has been told by then.
func validate(ctx context.Context, env *environment, o validateOptions) error {
	if o.file != "-" {
		var err error
		if o.file, err = env.configFile(ctx, o); err != nil {
			return err
		}
	}
	c, problems, err := loadConfig(env, o.file)
	if err != nil {
		f := event.AsFault(err)
		problems = config.Problems{{File: o.file, Line: 1, Col: 1, Code: f.Code, Severity: event.Error,
			Args: faultArgs(f)}}
	}
	if c != nil {
		problems = config.WithWarnings(c, problems)
	}
	if o.strict {
		for i := range problems {
			problems[i].Severity = event.Error
		}
	}
	if o.output == cli.JSON {
		out := env.lines()
		if present.ValidityLines(env.P, out, o.file, problems); out.Err != nil {
			return out.Err
		}
	} else {
		env.print(present.Validity(env.P, o.file, problems))
	}
	if problems.HasErrors() {
		return reported(event.ClassUsage, "config.invalid")
	}
	return nil
}

// configFile returns the path of the deploy.yaml that validate reads.
func (env *environment) configFile(ctx context.Context, o validateOptions) (string, error) {
	if o.file != "" {
		return o.file, nil // messages show it as it was typed
	}
	if o.id != "" {
		if err := env.knows(ctx, o.id); err != nil {
			return "", err
		}
	}
	src, err := env.source(ctx, named{id: o.id})
	if err != nil || src.Cluster == "" {
		return src.File, err
	}
	file := filepath.Join(env.stateRoot(), src.Cluster, store.ConfigName)
	if !exists(file) {
		err = operation.Unconfigured(ctx, env.stateStore(), src.Cluster)
	}
	return file, err
}

// loadConfig reads the file, or standard input for "-".
func loadConfig(env *environment, file string) (*config.Cluster, config.Problems, error) {
	if file != "-" {
		return config.LoadFile(file)
	}
	data, err := io.ReadAll(io.LimitReader(env.Stdin, config.MaxSize+1))
	if err != nil {
		return nil, nil, event.NewFault(event.ClassUsage, "config.unreadable", err, "file", "-")
	}
	c, problems := config.Load(data, "-")
	return c, problems, nil
}

// faultArgs are the arguments of the fault's sentence, its cause among them.
func faultArgs(f *event.Fault) map[string]string {
	args := map[string]string{"cause": f.Cause}
	maps.Copy(args, f.Args)
	return args
}

// printProblems tells the problems of a deploy.yaml on stderr, for verbs that go on to do something else.
func printProblems(env *environment, problems config.Problems) {
	env.printTo(env.Stderr, present.Problems(env.P, problems))
}
