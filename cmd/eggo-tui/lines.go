package main

import (
	"encoding/json"

	"github.com/spf13/cobra"
)

// looking adds the flags of the verbs that only look.
func (o *runOptions) looking(cmd *cobra.Command, env *environment) {
	cmd.Flags().StringVarP(&o.file, "file", "f", "", env.P.T("cli.flag.deploy-file"))
	o.lookingAt(cmd, env)
	cmd.MarkFlagsMutuallyExclusive("file", "id")
}

// lookingAt are the flags of looking but for -f, which is another file to some verbs.
func (o *runOptions) lookingAt(cmd *cobra.Command, env *environment) {
	cmd.Flags().StringVar(&o.id, "id", "", env.P.T("cli.flag.id"))
	cmd.Flags().StringVar(&o.output, "output", env.output("plain"), env.P.T("cli.flag.report"))
	cmd.Flags().StringVar(&o.hostKeys, "host-keys", "", env.P.T("cli.flag.host-keys"))
	cmd.Flags().StringVar(&o.state, "state-dir", "", env.P.T("cli.flag.state"))
}

// lines writes one JSON object a line, the first with the version.
type lines struct {
	enc *json.Encoder
	err error
}

func newLines(env *environment) *lines {
	l := &lines{enc: json.NewEncoder(env.Stdout)}
	l.enc.SetEscapeHTML(false)
	l.put(jsonVersion{"version", 1, buildVersion()})
	return l
}

func (l *lines) put(v any) {
	if l.err == nil {
		l.err = l.enc.Encode(v)
	}
}
