// SPDX-License-Identifier: Apache-2.0

package resource

// CertProvider identifies a certificate of a certificate provider instance. The zero value
// means that there is none.
type CertProvider struct {
	Instance, Certificate string
}

func (c *Context) certProvider(instance, certificate string) (CertProvider, error) {
	if !c.knowsCertProvider(instance) {
		return CertProvider{}, wrong("instance_name", "%q is not in certificate_providers of the bootstrap configuration", instance)
	}
	return CertProvider{Instance: instance, Certificate: certificate}, nil
}
