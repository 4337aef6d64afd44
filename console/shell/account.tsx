// The menu of the account: who is signed in, theme, time zone, the password, signing out.

import { useId } from 'react'
import { Action, Button } from '../parts/button.tsx'
import { Dialog, DialogActions } from '../parts/dialog.tsx'
import { SelectField, SwitchField } from '../parts/field.tsx'
import { allZones, localZone } from '../text/zone.ts'
import { useGo } from './address.tsx'
import { usePreference } from './preferences.ts'
import { useSession } from './session.tsx'

const THEMES = [
  ['system', 'As the system'],
  ['light', 'Light'],
  ['dark', 'Dark'],
] as const

export function Account({ onClose }: { readonly onClose: () => void }) {
  const { status, signOut } = useSession()
  const go = useGo()
  const [theme, setTheme] = usePreference('theme')
  const [zone, setZone] = usePreference('zone')
  const [hasShortcuts, setShortcuts] = usePreference('hasShortcuts')
  const zones = useId()
  return (
    <Dialog title="Account and preferences" onClose={onClose}>
      <Who onLeave={onClose} />
      <SelectField
        label="Theme"
        value={theme}
        options={THEMES}
        onChange={value => setTheme(THEMES.find(([each]) => each === value)![0])}
      />
      <SelectField
        label="Time zone"
        hint="For every time that the console shows, and for every time that you type."
        value={zone}
        options={[['local', `Of this browser (${localZone()})`], ...allZones().map(each => [each, each] as const)]}
        onChange={setZone}
        id={zones}
      />
      <SwitchField label="Use single keys" isOn={hasShortcuts} onChange={setShortcuts} />
      <DialogActions>
        {status?.user !== undefined && (
          <Button
            onClick={() => {
              onClose()
              void signOut().then(() => go({ page: 'signIn' }))
            }}
          >
            Sign out
          </Button>
        )}
        <Button onClick={onClose}>Close</Button>
      </DialogActions>
    </Dialog>
  )
}

/** Who is signed in, and the way to another password: an ADMIN changes it, others read who can. */
function Who({ onLeave }: { readonly onLeave: () => void }) {
  const { status, may } = useSession()
  const go = useGo()
  if (status?.securityEnabled === false)
    return <p>Open access: security is off, and everybody who can reach this address is an administrator.</p>
  if (status?.user === undefined) return null
  return (
    <div className="mb-4">
      <p>
        Signed in as <strong>{status.user}</strong>, {status.role}.
      </p>
      {status.federated === true ? (
        <p className="text-muted">Your identity provider signs you in, so that you have no password here.</p>
      ) : may('change user') ? (
        <Action
          operation="change user"
          isSmall
          onClick={() => {
            onLeave()
            go({ page: 'password' })
          }}
        >
          Change password
        </Action>
      ) : (
        <p className="text-muted">An ADMIN can change your password: ask one of them.</p>
      )}
    </div>
  )
}
