package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
)

// defaultConfigPath is ~/.eggo/deploy.yaml, the manual's default of -f.
func defaultConfigPath(env *environment) string {
	home := env.Getenv("HOME")
	if home == "" {
		home = "/root"
	}
	return filepath.Join(home, ".eggo", "deploy.yaml")
}

type validateOptions struct {
	file   string
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
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return validate(env, o) },
	}
	cmd.Flags().StringVarP(&o.file, "file", "f", defaultConfigPath(env), p.T("cli.flag.file"))
	cmd.Flags().StringVar(&o.output, "output", env.output("text"), p.T("cli.flag.output"))
	cmd.Flags().BoolVar(&o.strict, "strict", false, p.T("cli.validate.strict"))
	return cmd
}

// validate prints every problem of a deploy.yaml. Its error has the exit code and has been told by then.
func validate(env *environment, o validateOptions) error {
	if o.output != "text" && o.output != "json" {
		return event.NewFault(event.ClassUsage, "usage.output", nil, "output", o.output, "choices", "text, json")
	}
	c, problems, err := loadConfig(env, o.file)
	if err != nil {
		f := event.AsFault(err)
		problems = config.Problems{{File: o.file, Line: 1, Col: 1, Code: f.Code, Severity: event.Error,
			Args: faultArgs(f)}}
	}
	if c != nil {
		// What deploy would refuse does not make the file invalid.
		problems = append(problems, asWarnings(config.Unsupported(c))...).Sorted()
	}
	if o.strict {
		for i := range problems {
			problems[i].Severity = event.Error
		}
	}
	write := writeProblems
	if o.output == "json" {
		write = writeProblemsJSON
	}
	if err := write(env, env.Stdout, o.file, problems); err != nil {
		return err
	}
	if problems.HasErrors() {
		return reported(event.ClassUsage, "config.invalid")
	}
	return nil
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
	for _, p := range problems {
		fmt.Fprintln(env.Stderr, problemLine(env, p))
	}
}

// writeProblems writes one line a problem, as compilers do, and a summary.
func writeProblems(env *environment, w io.Writer, file string, problems config.Problems) error {
	for _, p := range problems {
		if _, err := fmt.Fprintln(w, problemLine(env, p)); err != nil {
			return err
		}
	}
	errors, warnings := problems.Count()
	key := "cli.validate.valid"
	if errors > 0 {
		key = "cli.validate.invalid"
	}
	_, err := fmt.Fprintln(w, env.P.T(key, "file", file, "errors", strconv.Itoa(errors), "warnings",
		strconv.Itoa(warnings)))
	return err
}

// problemLine is file:line:col: severity CODE key: sentence → what to write.
func problemLine(env *environment, p config.Problem) string {
	text, next := env.P.Fault(p.Fault())
	severity := env.P.T("cli." + string(p.Severity))
	line := fmt.Sprintf("%s:%d:%d: %s %s ", event.Clean(p.File), p.Line, p.Col, severity, p.Code)
	if p.Key != "" {
		line += event.Clean(p.Key) + ": "
	}
	line += text
	if next != "" {
		line += " → " + next
	}
	return line
}

// The lines of --output json, described in docs/deploy-yaml.md. New fields may come, names do not change.
type (
	jsonVersion struct {
		Type    string `json:"type"` // version
		Schema  int    `json:"schema"`
		Version string `json:"version"`
	}
	jsonProblem struct {
		Type     string `json:"type"` // problem
		File     string `json:"file"`
		Line     int    `json:"line"`
		Column   int    `json:"column"`
		Key      string `json:"key"`
		Code     string `json:"code"`
		Severity string `json:"severity"`
		Message  string `json:"message"`
		Next     string `json:"next"`
	}
	jsonSummary struct {
		Type     string `json:"type"` // summary
		File     string `json:"file"`
		Valid    bool   `json:"valid"`
		Errors   int    `json:"errors"`
		Warnings int    `json:"warnings"`
	}
)

// writeProblemsJSON writes one object a line.
func writeProblemsJSON(env *environment, w io.Writer, file string, problems config.Problems) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(jsonVersion{"version", 1, buildVersion()}); err != nil {
		return err
	}
	for _, p := range problems {
		text, next := env.P.Fault(p.Fault())
		if err := enc.Encode(jsonProblem{"problem", p.File, p.Line, p.Col, p.Key, p.Code, string(p.Severity), text,
			next}); err != nil {
			return err
		}
	}
	errors, warnings := problems.Count()
	return enc.Encode(jsonSummary{"summary", file, errors == 0, errors, warnings})
}
