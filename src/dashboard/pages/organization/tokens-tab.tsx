import { Button } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { type OrganizationTokensQuery, RevokeToken } from '../../documents.ts';
import { useCommand } from '../../lib/command.ts';
import { useFormats } from '../../lib/format.ts';
import { usePageQuery } from '../../lib/page-query.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { Mark } from '../../parts/mark.tsx';
import { Pager } from '../../parts/pager.tsx';
import { Row, Rows } from '../../parts/rows.tsx';
import { Failure, Notice, Waiting } from '../../shell/states.tsx';
import { NewToken } from './new-token.tsx';
import classes from './organization.module.css';
import { type TabProps, tabQueries } from './organization-query.ts';
import { type Access, ShownAccess } from './shown-access.tsx';

type Token = NonNullable<NonNullable<NonNullable<OrganizationTokensQuery['organization']>['tokens']>['nodes'][number]>;

interface RevocationProps {
  organization: string;
  token: Token;
  onClose: () => void;
  onDone: () => void;
}

function Revocation({ organization, token, onClose, onDone }: RevocationProps) {
  const { t } = useTranslation('organization');
  const { run, isRunning, fault } = useCommand(RevokeToken);
  const revoke = async () => {
    const outcome = await run({ organization, input: { token_id: String(token.id) } });
    if (!outcome.fault) onDone();
  };
  return (
    <Confirm
      title={t('revoke_title', { name: token.name })}
      action={t('revoke')}
      onConfirm={revoke}
      onClose={onClose}
      isRunning={isRunning}
      fault={fault}
    >
      {t('revoke_lead')}
    </Confirm>
  );
}

export function TokensTab({ organization, search, onSearch }: TabProps) {
  const { t } = useTranslation('organization');
  const { ago, date } = useFormats();
  const [isNew, setNew] = useState(false);
  const [shown, setShown] = useState<Access | null>(null);
  const [revoked, setRevoked] = useState<Token | null>(null);
  const { data, fault, refresh } = usePageQuery(tabQueries.tokens(organization, search));
  const tokens = data?.organization?.tokens;
  if (!tokens) return fault ? <Failure fault={fault} onRetry={refresh} /> : <Waiting rows={6} />;
  const create = <Button onClick={() => setNew(true)}>{t('new_token')}</Button>;
  const detailOf = ({ last4, permissions, projects, mcp, last_used, expires_at, ...token }: Token) =>
    [
      `ptc_…${last4}`,
      t('permissions_count', { count: permissions.length }),
      projects === null ? t('all_projects') : projects.join(', '),
      ...(mcp.publish ? [t('tools_publish')] : []),
      ...(mcp.all_operations ? [t('tools_all_operations')] : []),
      last_used === null ? t('never_used') : t('last_used', { when: ago(last_used) }),
      expires_at === null ? t('never_expires') : t('expires', { date: date(expires_at) }),
      t('created_by', { name: token.created_by_name ?? token.created_by }),
    ].join(' · ');
  return (
    <>
      {tokens.nodes.length === 0 && search.after === undefined ? (
        <Notice title={t('no_tokens')} action={create}>
          {t('no_tokens_lead')}
        </Notice>
      ) : (
        <>
          <div className={classes.bar}>
            <p className={classes.lead}>{t('tokens_lead')}</p>
            {create}
          </div>
          <Rows label={t('tokens')}>
            {tokens.nodes.map((token) => (
              <Row
                key={token.id}
                title={token.name}
                marks={<Mark>{t(`role_${token.preset ?? 'custom'}`)}</Mark>}
                detail={<span title={token.permissions.join(', ')}>{detailOf(token)}</span>}
                actions={
                  <Button
                    variant="default"
                    size="xs"
                    onClick={() => setRevoked(token)}
                    aria-label={t('revoke_what', { name: token.name })}
                  >
                    {t('revoke')}
                  </Button>
                }
              />
            ))}
          </Rows>
          <Pager
            total={tokens.total_count}
            after={search.after}
            page={tokens.page_info}
            onGo={(after) => onSearch({ after })}
          />
        </>
      )}
      {isNew && (
        <NewToken
          organization={organization}
          projects={data?.organization?.projects?.nodes ?? []}
          onClose={() => setNew(false)}
          onMade={(made) => {
            setNew(false);
            setShown(made);
            refresh();
          }}
        />
      )}
      {shown && <ShownAccess shown={shown} onClose={() => setShown(null)} />}
      {revoked && (
        <Revocation
          organization={organization}
          token={revoked}
          onClose={() => setRevoked(null)}
          onDone={() => {
            setRevoked(null);
            refresh();
          }}
        />
      )}
    </>
  );
}
