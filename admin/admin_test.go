// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"errors"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/internal/admin"
)

type registrar []string

func (r *registrar) RegisterService(d *grpc.ServiceDesc, _ any) { *r = append(*r, d.ServiceName) }

func TestRegister(t *testing.T) {
	var got registrar
	cleanup, err := Register(&got)
	if err != nil || !slices.Equal(got, registrar{"grpc.channelz.v1.Channelz"}) {
		t.Fatalf("%q, %v", got, err)
	}
	cleanup()
}

// nested registers the services with another server, too.
type nested struct {
	registrar
	other registrar
}

func (n *nested) RegisterService(d *grpc.ServiceDesc, impl any) {
	n.registrar.RegisterService(d, impl)
	_, _ = Register(&n.other)
}

// TestRegisterNested: a server may register the services elsewhere while they are registered with it.
func TestRegisterNested(t *testing.T) {
	var got nested
	if _, err := Register(&got); err != nil || len(got.other) != len(got.registrar) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestCleanup(t *testing.T) {
	var services admin.Services
	var got registrar
	released := 0
	services.Add(func(grpc.ServiceRegistrar) (func(), error) { return func() { released++ }, nil })
	services.Add(func(grpc.ServiceRegistrar) (func(), error) { return nil, nil })
	cleanup, err := services.Register(&got)
	if err != nil || released != 0 {
		t.Fatalf("%d, %v", released, err)
	}
	cleanup()
	if released != 1 {
		t.Errorf("released %d times", released)
	}

	broken := errors.New("broken")
	services.Add(func(grpc.ServiceRegistrar) (func(), error) { return nil, broken })
	if cleanup, err := services.Register(&got); err != broken || cleanup != nil || released != 2 {
		t.Errorf("%v, released %d times", err, released)
	}
}
