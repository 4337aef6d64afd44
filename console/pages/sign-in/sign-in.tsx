// The sign-in page: the identity provider if there is one, else name and password, and the reason for being here.

import { LogIn } from 'lucide-react'
import { addressOf } from '../../api/client.ts'
import { buttonClass } from '../../parts/button.tsx'
import { PageHead } from '../../parts/page.tsx'
import { useHere } from '../../shell/address.tsx'
import { ownAddress } from '../../shell/own-address.ts'
import { useSession } from '../../shell/session.tsx'
import { SignInForm } from './sign-in-form.tsx'

/** The errors of a single sign-on (docs/guides/single-sign-on.md), with the sentences for people. */
const SSO_ERRORS: Readonly<Record<string, string>> = {
  'sso-unavailable': 'The identity provider does not answer. You can sign in with a password, or try again later.',
  'sso-expired': 'This sign-in took too long, or another tab began a newer one. Try again.',
  'sso-refused': 'The identity provider refused the sign-in, or you cancelled it there.',
  'sso-invalid':
    'The answer of the identity provider is not valid. An administrator finds the reason in the log of the broker.',
  'sso-no-role':
    'Your account is in neither group that may use this console. Ask an administrator of the identity provider.',
}

export function SignIn() {
  const { status, refresh } = useSession()
  const { search } = useHere('signIn')
  const sso = status?.sso
  const to = ownAddress(search.to)
  // Any site can link to this page with a text of its own, so that only known errors are shown.
  const error = Object.hasOwn(SSO_ERRORS, search.error) ? SSO_ERRORS[search.error] : undefined
  return (
    <div className="rounded-card border border-line bg-surface p-6">
      <PageHead title="Sign in to Ketch" documentTitle="Sign in" />
      {error !== undefined && (
        <p role="alert" className="my-3 rounded-control bg-danger-soft p-3 text-danger">
          {error}
        </p>
      )}
      {error === undefined && to !== '/' && (
        <p className="my-3 text-muted">Sign in to see the page that you asked for.</p>
      )}
      {sso?.enabled === true && (
        <>
          <a
            href={addressOf('begin single sign-on', { query: { returnTo: to } })}
            className={`${buttonClass('primary')} w-full`}
          >
            <LogIn size={16} aria-hidden />
            {sso.label ?? 'Sign in with single sign-on'}
          </a>
          <p className="my-4 text-center text-muted">or with a password</p>
        </>
      )}
      <SignInForm onSignedIn={() => void refresh().catch(() => {})} />
    </div>
  )
}
