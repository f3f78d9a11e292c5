package addon

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
)

// remoteSchema is a schema that refers to another one elsewhere.
type remoteSchema struct{ url string }

func (r remoteSchema) Error() string { return "it refers to " + r.url }

// refuse is a loader that loads nothing: helm's own reads any file of this machine and any address that a chart's
// schema names.
type refuse struct{}

func (refuse) Load(url string) (any, error) { return nil, remoteSchema{url} }

// validate holds values against the schemas of a chart and the charts within it. remote are the charts whose schema
// refers elsewhere and was passed over; problems has what the others found, in the words of the validator.
func validate(c *chart.Chart, values map[string]any) (remote []string, problems []string) {
	if c.Schema != nil {
		switch err := against(c.Schema, values); {
		case errors.As(err, new(remoteSchema)):
			remote = append(remote, c.ChartFullPath())
		case err != nil:
			text := err.Error()
			if _, rest, ok := strings.Cut(text, "#'\n"); ok {
				text = rest
			}
			problems = append(problems, c.ChartFullPath()+": "+text)
		}
	}
	for _, d := range c.Dependencies() {
		var own map[string]any
		switch v := values[d.Name()].(type) {
		case map[string]any:
			own = v
		case common.Values:
			own = v
		}
		r, p := validate(d, own)
		remote, problems = append(remote, r...), append(problems, p...)
	}
	return remote, problems
}

func against(schema []byte, values map[string]any) error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return fmt.Errorf("values.schema.json: %w", err)
	}
	const name = "eggo:///values.schema.json"
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(refuse{})
	if err := compiler.AddResource(name, doc); err != nil {
		return err
	}
	compiled, err := compiler.Compile(name)
	if err != nil {
		var load *jsonschema.LoadURLError
		if errors.As(err, &load) {
			return remoteSchema{load.URL}
		}
		return err
	}
	if values == nil {
		values = map[string]any{}
	}
	return compiled.Validate(map[string]any(values))
}
