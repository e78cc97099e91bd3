export { AesSecretBox } from './aes-secret-box.js';
export { createSecretBox, openSecretBox } from './encryption-keys.js';
