package site

import (
	"context"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/route"
)

// standIn returns a service whose routes Answer answers for, if there is one.
func standIn[S any](s *Site, service *S) *S {
	out := *service
	all := reflect.ValueOf(&out).Elem()
	for i := range all.NumField() {
		r := reflect.New(all.Field(i).Type().Elem())
		r.Elem().Set(all.Field(i).Elem())
		op := r.Elem().FieldByName("Operation").Interface().(huma.Operation)
		method, allow := r.Elem().FieldByName("Method"), r.Elem().FieldByName("Allow")
		own := reflect.ValueOf(method.Interface())
		method.Set(reflect.MakeFunc(method.Type(), func(in []reflect.Value) []reflect.Value {
			if s.Answer == nil {
				return own.Call(in)
			}
			answer, failed := reflect.New(own.Type().Out(0).Elem()), reflect.Zero(own.Type().Out(1))
			var body any
			if f := answer.Elem().FieldByName("Body"); f.IsValid() {
				body = f.Addr().Interface()
			}
			if err := s.Answer(op, body); err != nil {
				failed = reflect.ValueOf(&err).Elem()
			}
			return []reflect.Value{answer, failed}
		}))
		check := allow.Interface().(func(context.Context, route.Path) (access.Grant, error))
		allow.Set(reflect.ValueOf(func(ctx context.Context, path route.Path) (access.Grant, error) {
			if s.Answer != nil {
				return access.Anybody(ctx), nil
			}
			return check(ctx, path)
		}))
		all.Field(i).Set(r)
	}
	return &out
}
