// SPDX-License-Identifier: Apache-2.0
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sort"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/resource"
	"k8s.io/kubernetes/pkg/registry/resource/deviceclass"
	"k8s.io/kubernetes/pkg/registry/resource/devicetaintrule"
	"k8s.io/kubernetes/pkg/registry/resource/resourceclaim"
	"k8s.io/kubernetes/pkg/registry/resource/resourceclaimtemplate"
	"k8s.io/kubernetes/pkg/registry/resource/resourcepoolstatusrequest"
	"k8s.io/kubernetes/pkg/registry/resource/resourceslice"
)

// strategy is what the API server asks before it stores an object.
type strategy interface {
	rest.RESTCreateStrategy
	rest.RESTUpdateStrategy
}

// namespaces has every namespace, with the labels that the question gives.
type namespaces struct{ typed.NamespaceInterface }

var namespaceLabels map[string]string

func (namespaces) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Namespace, error) {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: namespaceLabels}}, nil
}

var allow authorizer.UnconditionalAuthorizer = authorizerfactory.NewAlwaysAllowAuthorizer()

func strategies() (main, status map[string]rest.RESTUpdateStrategy) {
	claims := resourceclaim.NewStrategy(namespaces{}, allow)
	main = map[string]rest.RESTUpdateStrategy{
		"deviceclasses":              deviceclass.Strategy,
		"devicetaintrules":           devicetaintrule.Strategy,
		"resourceclaims":             claims,
		"resourceclaimtemplates":     resourceclaimtemplate.NewStrategy(namespaces{}),
		"resourcepoolstatusrequests": resourcepoolstatusrequest.Strategy,
		"resourceslices":             resourceslice.Strategy,
	}
	status = map[string]rest.RESTUpdateStrategy{
		"devicetaintrules":           devicetaintrule.StatusStrategy,
		"resourceclaims":             resourceclaim.NewStatusStrategy(claims),
		"resourcepoolstatusrequests": resourcepoolstatusrequest.StatusStrategy,
	}
	return main, status
}

var mainStrategies, statusStrategies = strategies()

var strict = serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict)

// internal decodes one object with its defaults; unknown and repeated fields come as a list of their own.
func internal(raw json.RawMessage) (runtime.Object, *schema.GroupVersionKind, []string, error) {
	codec := strict.DecoderToVersion(strict.UniversalDeserializer(), resource.SchemeGroupVersion)
	object, kind, err := codec.Decode(raw, nil, nil)
	unknown := []string{}
	if problems, only := runtime.AsStrictDecodingError(err); only && object != nil {
		for _, problem := range problems.Errors() {
			unknown = append(unknown, problem.Error())
		}
		sort.Strings(unknown)
		err = nil
	}
	return object, kind, unknown, err
}

func answerValidate(raw []byte) (answer, error) {
	var question struct {
		Object      json.RawMessage   `json:"object"`
		Old         json.RawMessage   `json:"old"`
		Subresource string            `json:"subresource"`
		Labels      map[string]string `json:"namespaceLabels"`
	}
	if err := decode(raw, &question); err != nil {
		return nil, err
	}
	namespaceLabels = question.Labels
	object, kind, unknown, err := internal(question.Object)
	if err != nil {
		return answer{"errors": []any{}, "decodeError": err.Error()}, nil
	}
	var old runtime.Object
	if len(question.Old) > 0 && string(question.Old) != "null" {
		if old, _, _, err = internal(question.Old); err != nil {
			return answer{"errors": []any{}, "decodeError": "old: " + err.Error()}, nil
		}
	}
	found, err := validated(object, old, *kind, question.Subresource)
	if err != nil {
		return nil, err
	}
	answered := answer{"errors": listed(found)}
	if len(unknown) > 0 {
		answered["strictErrors"] = unknown
	}
	return answered, nil
}

func validated(object, old runtime.Object, kind schema.GroupVersionKind, subresource string) (field.ErrorList, error) {
	plural, _ := meta.UnsafeGuessKindToResource(kind)
	table := mainStrategies
	if subresource == "status" {
		table = statusStrategies
	}
	asked, known := table[plural.Resource]
	if !known {
		return nil, fmt.Errorf("input: kind %s has no strategy for %q", kind.Kind, subresource)
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil, err
	}
	verb := "create"
	if old != nil {
		verb = "update"
	}
	ctx := genericrequest.WithNamespace(context.Background(), accessor.GetNamespace())
	ctx = genericrequest.WithUser(ctx, &user.DefaultInfo{Name: "anybody"})
	ctx = genericrequest.WithRequestInfo(ctx, &genericrequest.RequestInfo{
		IsResourceRequest: true, Verb: verb, APIPrefix: "apis", APIGroup: kind.Group, APIVersion: kind.Version,
		Resource: plural.Resource, Subresource: subresource, Namespace: accessor.GetNamespace(), Name: accessor.GetName(),
	})
	if old != nil {
		asked.PrepareForUpdate(ctx, object, old)
		if err := carry(accessor, old); err != nil {
			return nil, err
		}
		return rest.ValidateUpdate(ctx, object, old, asked), nil
	}
	created, can := asked.(strategy)
	if !can || subresource != "" {
		return nil, errors.New("input: a status is only ever updated")
	}
	created.PrepareForCreate(ctx, object)
	return rest.ValidateCreate(ctx, object, created), nil
}

// carry keeps what no update changes, as rest.BeforeUpdate does, which has no list of errors to give.
func carry(updated metav1.Object, stored runtime.Object) error {
	old, err := meta.Accessor(stored)
	if err != nil {
		return err
	}
	if len(updated.GetUID()) == 0 {
		updated.SetUID(old.GetUID())
	}
	if made := old.GetCreationTimestamp(); !made.IsZero() {
		updated.SetCreationTimestamp(made)
	}
	if !old.GetDeletionTimestamp().IsZero() {
		updated.SetDeletionTimestamp(old.GetDeletionTimestamp())
	}
	if old.GetDeletionGracePeriodSeconds() != nil && updated.GetDeletionGracePeriodSeconds() == nil {
		updated.SetDeletionGracePeriodSeconds(old.GetDeletionGracePeriodSeconds())
	}
	return nil
}

// listed writes errors down, sorted by everything that they say.
func listed(found field.ErrorList) []map[string]any {
	rows := []map[string]any{}
	for _, problem := range found {
		rows = append(rows, map[string]any{
			"field": problem.Field, "type": string(problem.Type), "detail": problem.Detail, "badValue": plain(problem.BadValue),
		})
	}
	sort.SliceStable(rows, func(i, j int) bool { return key(rows[i]) < key(rows[j]) })
	return rows
}

func key(row map[string]any) string {
	return fmt.Sprintf("%s\x00%s\x00%s\x00%v", row["field"], row["type"], row["detail"], row["badValue"])
}

// plain gives a text, number or truth value as it is; the names inside of anything bigger are those of Go's types.
func plain(value any) any {
	found := reflect.ValueOf(value)
	for found.Kind() == reflect.Pointer && !found.IsNil() {
		found = found.Elem()
	}
	switch found.Kind() {
	case reflect.String:
		return found.String()
	case reflect.Bool:
		return found.Bool()
	case reflect.Int, reflect.Int32, reflect.Int64:
		return found.Int()
	}
	return nil
}
