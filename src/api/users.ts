// The API schemas of users of the console and the admin API.

import { z } from 'zod'
import { pagingQuery } from './paging.ts'
import { timeShape } from './time.ts'
import { ROLES } from './words.ts'

export const roleShape = z.enum(ROLES)

export const userShape = z
  .object({
    username: z.string(),
    role: roleShape,
    createdAt: timeShape,
    passwordChangedAt: timeShape,
    passwordChangeRequired: z.boolean().meta({ description: 'True if the user still has the shipped password.' }),
  })
  .meta({ id: 'User' })

export type User = z.infer<typeof userShape>

export const userListQuery = pagingQuery(['username', 'role', 'createdAt', 'passwordChangedAt'])

export const userListShape = z.object({
  users: z.array(userShape),
  total: z.int(),
  unreadable: z.array(z.string()).meta({
    description:
      'Users whose stored form this version cannot read. They cannot sign in. Deleting such a user frees the name.',
  }),
})

export type UserList = z.infer<typeof userListShape>

export const newUserShape = z.strictObject({
  username: z.string().meta({ description: 'At most 128 characters, without a colon.' }),
  password: z
    .string()
    .meta({ description: '8 to 1024 bytes of any Unicode.', examples: ['correct horse battery staple'] }),
  role: roleShape.default('ADMIN'),
})

export type NewUser = z.input<typeof newUserShape>

export const userChangeShape = z.strictObject({
  role: roleShape.optional(),
  password: z
    .string()
    .optional()
    .meta({ examples: ['correct horse battery staple'] }),
  currentPassword: z.string().optional().meta({ description: 'Required when users change their own password.' }),
})

export type UserChange = z.input<typeof userChangeShape>
