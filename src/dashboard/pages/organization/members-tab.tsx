import { ActionIcon, Button, Menu } from '@mantine/core';
import { IconDots } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { CreateResetLink, InviteMember, RemoveMember } from '../../documents.ts';
import { useCommand } from '../../lib/command.ts';
import type { Fault } from '../../lib/faults.ts';
import { usePageQuery } from '../../lib/page-query.ts';
import { useCan, useViewer } from '../../lib/viewer.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { FaultAlert } from '../../parts/fault-alert.tsx';
import { Mark } from '../../parts/mark.tsx';
import { Pager } from '../../parts/pager.tsx';
import { Row, Rows } from '../../parts/rows.tsx';
import { Failure, Waiting } from '../../shell/states.tsx';
import { MemberForm } from './member-form.tsx';
import classes from './organization.module.css';
import { type Member, type TabProps, tabQueries } from './organization-query.ts';
import { type Access, ShownAccess } from './shown-access.tsx';

/** What is open over the list. */
type Open = { kind: 'invite' } | { kind: 'change' | 'remove'; member: Member } | null;

interface RemovalProps {
  organization: string;
  member: Member;
  onClose: () => void;
}

function Removal({ organization, member, onClose }: RemovalProps) {
  const { t } = useTranslation('organization');
  const { run, isRunning, fault } = useCommand(RemoveMember);
  const remove = async () => {
    const outcome = await run({ organization, input: { member: member.id } });
    if (!outcome.fault) onClose();
  };
  return (
    <Confirm
      title={t('remove_title', { name: member.name ?? member.email })}
      action={t('remove')}
      onConfirm={remove}
      onClose={onClose}
      isRunning={isRunning}
      fault={fault}
    >
      {t('remove_lead')}
    </Confirm>
  );
}

export function MembersTab({ organization, search, onSearch }: TabProps) {
  const { t } = useTranslation(['organization', 'common']);
  const can = useCan(organization);
  const { me } = useViewer();
  const [open, setOpen] = useState<Open>(null);
  const [shown, setShown] = useState<Access | null>(null);
  const [fault, setFault] = useState<Fault | null>(null);
  const invite = useCommand(InviteMember);
  const reset = useCommand(CreateResetLink);
  const page = usePageQuery(tabQueries.members(organization, search));
  const members = page.data?.organization?.members;
  if (!members) return page.fault ? <Failure fault={page.fault} onRetry={page.refresh} /> : <Waiting rows={6} />;

  const inviteAgain = async ({ email, role, permissions, projects }: Member) => {
    const input = { email, role, permissions, ...(projects && { projects }) };
    const { data, fault } = await invite.run({ organization, input });
    setFault(fault);
    const made = data?.inviteMember;
    if (made) setShown({ kind: 'join', email, value: made.join_url, expires_at: made.expires_at });
  };
  const makeResetLink = async ({ user_id, email }: Member) => {
    const { data, fault } = await reset.run({ input: { user_id } });
    setFault(fault);
    const made = data?.createResetLink;
    if (made) setShown({ kind: 'reset', email, value: made.reset_url, expires_at: made.expires_at });
  };
  const detailOf = ({ email, name, permissions, projects }: Member) =>
    [
      name === null ? null : email,
      permissions.length > 0 ? t('further_permissions', { count: permissions.length }) : null,
      projects === null ? t('all_projects') : projects.join(', '),
    ]
      .filter(Boolean)
      .join(' · ');
  return (
    <>
      <div className={classes.bar}>
        <p className={classes.lead}>{t('members_lead')}</p>
        {can('manage_organization') && <Button onClick={() => setOpen({ kind: 'invite' })}>{t('invite')}</Button>}
      </div>
      <FaultAlert fault={fault} />
      <Rows label={t('members')}>
        {members.nodes.map((member) => (
          <Row
            key={member.id}
            title={member.name ?? member.email}
            marks={
              <>
                <Mark>{t(`role_${member.role}`)}</Mark>
                {member.joined_at === null && <Mark tone="warn">{t('invited')}</Mark>}
                {`user:${member.user_id}` === me?.id && <Mark tone="accent">{t('you')}</Mark>}
              </>
            }
            detail={<bdi>{detailOf(member)}</bdi>}
            actions={
              can('manage_organization') && (
                <Menu position="bottom-end">
                  <Menu.Target>
                    <ActionIcon
                      variant="subtle"
                      color="gray"
                      size={32}
                      aria-label={t('common:actions_for', { name: member.name ?? member.email })}
                    >
                      <IconDots size={18} />
                    </ActionIcon>
                  </Menu.Target>
                  <Menu.Dropdown>
                    <Menu.Item onClick={() => setOpen({ kind: 'change', member })}>{t('change_rights')}</Menu.Item>
                    {member.joined_at === null ? (
                      <Menu.Item onClick={() => inviteAgain(member)}>{t('new_join_link')}</Menu.Item>
                    ) : (
                      <Menu.Item onClick={() => makeResetLink(member)}>{t('new_reset_link')}</Menu.Item>
                    )}
                    <Menu.Divider />
                    <Menu.Item color="var(--p-bad)" onClick={() => setOpen({ kind: 'remove', member })}>
                      {t('remove')}
                    </Menu.Item>
                  </Menu.Dropdown>
                </Menu>
              )
            }
          />
        ))}
      </Rows>
      <Pager
        total={members.total_count}
        after={search.after}
        page={members.page_info}
        onGo={(after) => onSearch({ after })}
      />
      {(open?.kind === 'invite' || open?.kind === 'change') && (
        <MemberForm
          organization={organization}
          member={open.kind === 'change' ? open.member : null}
          projects={page.data?.organization?.projects?.nodes ?? []}
          onClose={() => setOpen(null)}
          onInvited={(invited) => {
            setOpen(null);
            setShown(invited);
            page.refresh();
          }}
        />
      )}
      {open?.kind === 'remove' && (
        <Removal organization={organization} member={open.member} onClose={() => setOpen(null)} />
      )}
      {shown && <ShownAccess shown={shown} onClose={() => setShown(null)} />}
    </>
  );
}
