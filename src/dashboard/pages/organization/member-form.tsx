import { Modal, Radio, Stack, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { InviteMember, type Permission, type Role, UpdateMember } from '../../documents.ts';
import { useCommand } from '../../lib/command.ts';
import { useViewer } from '../../lib/viewer.tsx';
import { CommandForm } from '../../parts/command-form.tsx';
import { Disclosure } from '../../parts/disclosure.tsx';
import type { Member } from './organization-query.ts';
import { isOfRole, roles } from './rights.ts';
import { PermissionTable, type ProjectChoices, ProjectsField } from './rights-fields.tsx';
import type { Access } from './shown-access.tsx';

interface MemberFormProps {
  organization: string;
  /** Somebody who has not joined is invited anew; null: invites somebody. */
  member: Member | null;
  projects: ProjectChoices;
  onClose: () => void;
  onInvited: (shown: Access) => void;
}

/** Who is invited, or what a member may do. */
export function MemberForm({ organization, member, projects, onClose, onInvited }: MemberFormProps) {
  const { t } = useTranslation(['organization', 'session', 'common']);
  const { me } = useViewer();
  const [email, setEmail] = useState(member?.email ?? '');
  const [role, setRole] = useState<Role>(member?.role ?? 'editor');
  const [permissions, setPermissions] = useState<Permission[]>(member?.permissions ?? []);
  const [confined, setConfined] = useState<string[]>(member?.projects ?? []);
  const invite = useCommand(InviteMember);
  const update = useCommand(UpdateMember);
  // Who has not joined is invited anew: more rights end the link they were sent.
  const hasJoined = member !== null && member.joined_at !== null;
  const { isRunning, fault } = hasJoined ? update : invite;
  const grant = me?.grants.find((grant) => grant.organization === organization);
  const mayMakeOwners = grant?.owner || me?.instance_admin;
  const extra = permissions.filter((permission) => !isOfRole(role, permission));
  const reach = role === 'owner' ? [] : confined;

  const save = async () => {
    if (hasJoined) {
      const input = { member: member.id, role, permissions: extra, projects: reach.length > 0 ? reach : null };
      const outcome = await update.run({ organization, input });
      if (!outcome.fault) onClose();
      return;
    }
    const input = { email, role, permissions: extra, ...(reach.length > 0 && { projects: reach }) };
    const { data } = await invite.run({ organization, input });
    const made = data?.inviteMember;
    if (made) onInvited({ kind: 'join', email: made.email, value: made.join_url, expires_at: made.expires_at });
  };
  return (
    <Modal
      opened
      onClose={onClose}
      size="lg"
      title={member ? t('rights_of', { name: member.name ?? member.email }) : t('invite_title')}
    >
      <CommandForm
        submit={hasJoined ? t('common:save') : t('make_join_link')}
        onSubmit={save}
        onCancel={onClose}
        isRunning={isRunning}
        fault={fault}
        beside={member ? ['/projects'] : ['/email', '/projects']}
      >
        {!member && (
          <TextInput
            label={t('session:email')}
            description={t('invite_hint')}
            type="email"
            autoComplete="off"
            value={email}
            onChange={(event) => setEmail(event.currentTarget.value)}
            error={fault?.fields.get('/email')}
            data-autofocus
          />
        )}
        <Radio.Group label={t('role')} value={role} onChange={(value) => setRole(value as Role)}>
          <Stack gap="xs" mt={4}>
            {roles.map((name) => (
              <Radio
                key={name}
                value={name}
                label={t(`role_${name}`)}
                description={t(`role_${name}_hint`)}
                disabled={name === 'owner' && !mayMakeOwners}
              />
            ))}
          </Stack>
        </Radio.Group>
        {role !== 'owner' && (
          <>
            <ProjectsField
              projects={projects}
              value={confined}
              onChange={setConfined}
              error={fault?.fields.get('/projects')}
            />
            <Disclosure label={t('further_rights')} isOpen={extra.length > 0}>
              <PermissionTable
                organization={organization}
                holder={role}
                value={permissions}
                onChange={setPermissions}
              />
            </Disclosure>
          </>
        )}
      </CommandForm>
    </Modal>
  );
}
