// The things that a Kafka client needs for a listener besides the address, and that the shown files leave open.

import type { ReactNode } from 'react'
import { PageLink } from '../shell/address.tsx'
import { useCapability } from '../shell/capabilities.ts'
import type { CommandWay } from '../shell/command-access.ts'
import { hasSasl, hasTls, type Mechanism } from '../text/client-properties.ts'

export function ClientNeeds({ way: { access, needsCertificate } }: { readonly way: CommandWay }) {
  const hasRules = useCapability('acls')?.state === 'on'
  const isTls = hasTls(access.security)
  const isSasl = hasSasl(access.security)
  if (!isTls && !isSasl && !hasRules) return null
  return (
    <ul className="my-2 list-disc pl-5 text-muted">
      {isTls && (
        <li>
          <Code>ca.pem</Code> is the certificate of the authority that signed the certificate of the broker.
        </li>
      )}
      {isSasl && <li>{access.mechanism === null ? <NoMechanism /> : LOGINS[access.mechanism]}</li>}
      {needsCertificate && <li>The listener asks for a certificate of the client, which these files do not name.</li>}
      {hasRules && (
        <li>
          This broker enforces <SecurityLink tab="acls">ACLs</SecurityLink>: a client that is no super-user may do only
          the things that a rule allows.
        </li>
      )}
    </ul>
  )
}

const WITH_PASSWORD = (
  <>
    Replace <Code>{'<user>'}</Code> and <Code>{'<password>'}</Code> by those of a{' '}
    <SecurityLink tab="credentials">SASL credential</SecurityLink>.
  </>
)

const LOGINS: Readonly<Record<Mechanism, ReactNode>> = {
  'SCRAM-SHA-256': WITH_PASSWORD,
  PLAIN: WITH_PASSWORD,
  OAUTHBEARER: (
    <>
      Your identity provider gives the client its id and its secret. Replace <Code>{'<client id>'}</Code>,{' '}
      <Code>{'<client secret>'}</Code> and <Code>{'<token endpoint>'}</Code>. kcat can do this only with a librdkafka
      that was built with libcurl.
    </>
  ),
  GSSAPI: (
    <>
      The client needs a Kerberos ticket: run <Code>kinit</Code> before.
    </>
  ),
}

/** A broker tells the mechanisms of its own listeners only. */
function NoMechanism() {
  return (
    <>
      The files name no SASL mechanism, because only another broker has this listener. Add the mechanism and the login.
    </>
  )
}

function Code({ children }: { readonly children: string }) {
  return <code className="font-mono">{children}</code>
}

function SecurityLink({ tab, children }: { readonly tab: 'acls' | 'credentials'; readonly children: string }) {
  return (
    <PageLink page="security" search={{ tab }} className="text-accent underline underline-offset-2">
      {children}
    </PageLink>
  )
}
