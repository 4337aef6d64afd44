// The button that opens the menu of the account.

import { CircleUser } from 'lucide-react'
import { useState } from 'react'
import { Button } from '../parts/button.tsx'
import { lazyPart } from '../parts/lazy-part.tsx'
import { useSession } from './session.tsx'

const Account = lazyPart(async () => (await import('./account.tsx')).Account)

export function AccountButton() {
  const [isOpen, setOpen] = useState(false)
  const { status } = useSession()
  const name = status?.user ?? (status?.securityEnabled === false ? 'Open access' : 'Preferences')
  return (
    <>
      <Button
        kind="quiet"
        icon={CircleUser}
        aria-label={`Account and preferences: ${name}`}
        onClick={() => setOpen(true)}
      >
        <span className="max-w-40 truncate max-md:sr-only" aria-hidden>
          {name}
        </span>
      </Button>
      {isOpen && <Account onClose={() => setOpen(false)} />}
    </>
  )
}
