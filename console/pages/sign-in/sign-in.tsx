// The sign-in page.

import { PageHead } from '../../parts/page.tsx'
import { useSession } from '../../shell/session.tsx'
import { SignInForm } from './sign-in-form.tsx'

export function SignIn() {
  const { refresh } = useSession()
  return (
    <>
      <PageHead title="Sign in" />
      <SignInForm onSignedIn={() => void refresh().catch(() => {})} />
    </>
  )
}
