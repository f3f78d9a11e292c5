package addon

import (
	"context"
	"time"
)

// RenderWithin is Render with other bounds.
func RenderWithin(ctx context.Context, src ChartSource, o RenderOptions, most time.Duration, heap uint64) error {
	_, _, err := renderWithin(ctx, src, o, bounds{most, heap})
	return err
}
