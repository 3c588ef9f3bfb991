import { Button } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { type AccountQuery, UnlinkIdentity } from '../../documents.ts';
import { useCommand } from '../../lib/command.ts';
import { useFormats } from '../../lib/format.ts';
import { keepReturn } from '../../lib/provider-return.ts';
import { FaultAlert } from '../../parts/fault-alert.tsx';
import { Row, Rows } from '../../parts/rows.tsx';

type Identity = NonNullable<AccountQuery['identities']>[number];

interface IdentitiesProps {
  identities: readonly Identity[];
  /** Of the provider that accounts can be linked at; null: none. */
  host: string | null;
  onChanged: () => void;
}

/** Accounts elsewhere that sign the person in here. */
export function Identities({ identities, host, onChanged }: IdentitiesProps) {
  const { t } = useTranslation('account');
  const { date } = useFormats();
  const { run, isRunning, fault } = useCommand(UnlinkIdentity);
  const unlink = async (identity_id: number) => {
    const outcome = await run({ input: { identity_id } });
    if (!outcome.fault) onChanged();
  };
  return (
    <>
      <FaultAlert fault={fault} />
      {identities.length > 0 && (
        <Rows label={t('identities')}>
          {identities.map(({ id, issuer, linked_at }) => (
            <Row
              key={id}
              title={issuer}
              detail={t('linked', { date: date(linked_at) })}
              actions={
                <Button variant="default" size="xs" loading={isRunning} onClick={() => unlink(id)}>
                  {t('unlink')}
                </Button>
              }
            />
          ))}
        </Rows>
      )}
      {host !== null && (
        <div>
          <Button component="a" href="/auth/oidc?link" variant="default" onClick={() => keepReturn('/account')}>
            {t('link_account', { host })}
          </Button>
        </div>
      )}
    </>
  );
}
