// The sign-in over the page, when a session has ended. The page keeps its drafts; the refused requests run afterwards.

import { SignInForm } from '../pages/sign-in/sign-in-form.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { useSession } from './session.tsx'

export function SessionDialog() {
  const { status, refresh } = useSession()
  return (
    <Dialog title="Your session ended" onClose={() => {}} isDismissable={false}>
      <p className="mb-3">Sign in to go on. The page stays as it is.</p>
      <SignInForm username={status?.user ?? ''} onSignedIn={() => void refresh().catch(() => {})} />
    </Dialog>
  )
}
