import { Button } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { type AccountQuery, EndOtherSessions, EndSession } from '../../documents.ts';
import { useCommand } from '../../lib/command.ts';
import { useFormats } from '../../lib/format.ts';
import { FaultAlert } from '../../parts/fault-alert.tsx';
import { Mark } from '../../parts/mark.tsx';
import { Row, Rows } from '../../parts/rows.tsx';

type Session = NonNullable<AccountQuery['sessions']>['nodes'][number];

const browsers: readonly [RegExp, string][] = [
  [/\bEdg\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bFirefox\//, 'Firefox'],
  [/\b(?:Chrome|HeadlessChrome|CriOS)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
];
const systems: readonly [RegExp, string][] = [
  [/Android/, 'Android'],
  [/iPhone|iPad/, 'iOS'],
  [/Windows/, 'Windows'],
  [/Mac OS X/, 'macOS'],
  [/Linux/, 'Linux'],
];
const found = (text: string, names: readonly [RegExp, string][]) => names.find(([pattern]) => pattern.test(text))?.[1];

/** "Firefox · Linux" for a User-Agent (RFC 9110, 10.1.5); the beginning of it for a program that is none of these. */
export function browserName(userAgent: string): string {
  const parts = [found(userAgent, browsers), found(userAgent, systems)].filter(Boolean);
  return parts.length > 0 ? parts.join(' · ') : userAgent.slice(0, 60);
}

export function Sessions({ sessions, onChanged }: { sessions: readonly Session[]; onChanged: () => void }) {
  const { t } = useTranslation('account');
  const { ago, date } = useFormats();
  const one = useCommand(EndSession);
  const others = useCommand(EndOtherSessions);
  const end = async (session_id: number) => {
    const { fault } = await one.run({ input: { session_id } });
    if (!fault) onChanged();
  };
  const endOthers = async () => {
    const { fault } = await others.run({});
    if (!fault) onChanged();
  };
  return (
    <>
      <FaultAlert fault={one.fault ?? others.fault} />
      <Rows label={t('sessions')}>
        {sessions.map(({ id, browser, address, created_at, last_used, is_current }) => (
          <Row
            key={id}
            title={<span title={browser ?? ''}>{browserName(browser ?? t('unknown_browser'))}</span>}
            marks={is_current && <Mark tone="accent">{t('this_session')}</Mark>}
            detail={[address, t('last_used', { when: ago(last_used) }), t('since', { date: date(created_at) })]
              .filter(Boolean)
              .join(' · ')}
            actions={
              !is_current && (
                <Button variant="default" size="xs" loading={one.isRunning} onClick={() => end(id)}>
                  {t('end_session')}
                </Button>
              )
            }
          />
        ))}
      </Rows>
      {sessions.length > 1 && (
        <div>
          <Button variant="default" loading={others.isRunning} onClick={endOthers}>
            {t('end_others')}
          </Button>
        </div>
      )}
    </>
  );
}
