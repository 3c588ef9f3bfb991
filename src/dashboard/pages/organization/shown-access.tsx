import { useTranslation } from 'react-i18next';
import { useFormats } from '../../lib/format.ts';
import { ShownOnce } from '../../parts/shown-once.tsx';

/** A way in that the server gives once: a link for somebody, or a token. */
export type Access =
  | { kind: 'join' | 'reset'; email: string; value: string; expires_at: string }
  | { kind: 'token'; name: string; value: string; expires_at: string | null };

export function ShownAccess({ shown, onClose }: { shown: Access; onClose: () => void }) {
  const { t } = useTranslation('organization');
  const { time } = useFormats();
  const { kind, value, expires_at } = shown;
  return (
    <ShownOnce
      title={t(`shown_${kind}`, { who: kind === 'token' ? shown.name : shown.email })}
      value={value}
      label={t(`shown_${kind}_label`)}
      note={expires_at === null ? t('never_expires') : t('good_until', { time: time(expires_at) })}
      onClose={onClose}
    >
      {t(`shown_${kind}_lead`)}
    </ShownOnce>
  );
}
